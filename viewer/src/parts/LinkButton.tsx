import { createLink } from '@tanstack/react-router'
import type { AnchorHTMLAttributes } from 'react'
import { Icon, type IconName } from './Icon'
import styles from './LinkButton.module.css'

/** What a link that looks like a button takes beside where it leads. */
interface LinkButtonProps extends AnchorHTMLAttributes<HTMLAnchorElement> {
  look?: 'plain' | 'primary' | 'quiet'
  icon?: IconName
}

function Anchor({ look = 'plain', icon, children, ...rest }: LinkButtonProps) {
  return (
    <a {...rest} className={styles.link} data-look={look}>
      {icon && <Icon name={icon} />}
      {children}
    </a>
  )
}

/** A link to a page, in the shape of a button. */
export const LinkButton = createLink(Anchor)
