import type { ReactNode } from 'react'
import { AnswerView } from './AnswerView'
import { BoardView } from './BoardView'
import { ChatView } from './ChatView'
import { ChoicesView } from './ChoicesView'
import type { ContentViewProps } from './ContentView'
import { choicesOf } from './choices'
import { parsedJson, textOf, type View } from './content'
import { DiffView } from './DiffView'
import { JsonTree } from './JsonTree'
import { Markdown } from './Markdown'
import { PageView } from './PageView'
import { PictureView } from './PictureView'
import { RowsTable } from './RowsTable'
import { rowsOf, rowsOfText } from './rows'
import { SceneView } from './SceneView'
import { TextView } from './TextView'
import { ToolCallView } from './ToolCallView'
import { TurnView } from './TurnView'
import { chatOf, toolCallOf } from './talk'
import { answerOf, turnOf } from './turn'

/** What draws each view. A view that cannot draw the content after all returns null, and the next one is taken. */
export const RENDERERS: Record<View, (props: ContentViewProps) => ReactNode> = {
  image: ({ data, type, large }) => <PictureView data={data} type={type} large={large} />,
  board: ({ data, before, large, highlight, named }) => (
    <BoardView data={data} before={before} large={large} highlight={highlight} named={named === 'board'} />
  ),
  choices: ({ data, highlight }) => {
    const choices = choicesOf(data)
    return choices && <ChoicesView choices={choices} highlight={highlight} />
  },
  scene: ({ data, large, highlight }) => <SceneView data={data} large={large} highlight={highlight} />,
  table: ({ data, type, highlight }) => {
    const rows = typeof data === 'string' ? rowsOfText(data, type.includes('tab-') ? '\t' : ',') : rowsOf(data)
    return rows && <RowsTable rows={rows} highlight={highlight} />
  },
  markdown: ({ data, highlight }) => <Markdown text={textOf(data)} highlight={highlight} />,
  html: ({ data, highlight }) => <PageView html={textOf(data)} highlight={highlight} />,
  diff: ({ data }) => <DiffView diff={textOf(data)} />,
  turn: ({ data, highlight }) => {
    const turn = turnOf(data)
    return turn && <TurnView turn={turn} highlight={highlight} />
  },
  answer: ({ data, highlight }) => {
    const answer = answerOf(data)
    return answer && <AnswerView answer={answer} highlight={highlight} />
  },
  chat: ({ data, highlight }) => {
    const talks = chatOf(data)
    return talks && <ChatView talks={talks} highlight={highlight} />
  },
  tool: ({ data, highlight }) => {
    const call = toolCallOf(data)
    return call && <ToolCallView call={call} highlight={highlight} />
  },
  json: ({ data, highlight }) => (
    <JsonTree value={typeof data === 'string' ? (parsedJson(data) ?? data) : data} highlight={highlight} />
  ),
  text: ({ data, highlight, large }) => (
    <TextView
      text={textOf(data)}
      highlight={highlight}
      mono={typeof data !== 'string'}
      lines={large ? 40 : undefined}
    />
  ),
}
