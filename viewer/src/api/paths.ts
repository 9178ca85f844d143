/** Types of requests to the record and of its answers. */
import type { components, paths } from '../../types/schema'
import type { AnswerOf, ArgumentsOf, Method, ParamsOf, PathsOf, QueryOf } from './shapes'

export type { Method } from './shapes'

/** Documents of the record by name: `Schema<'RunSummary'>`. */
export type Schema<Name extends keyof components['schemas']> = components['schemas'][Name]

/** Paths that answer to a method. */
export type PathsWith<M extends Method> = PathsOf<paths, M>

/** The parts of a path that are written in braces, or nothing when it has none. */
export type Params<P extends keyof paths, M extends Method> = ParamsOf<paths, P, M>

/** The query of a request, every part optional that has a default. */
export type Query<P extends keyof paths, M extends Method> = QueryOf<paths, P, M>

/** What comes back when all is well. */
export type Answer<P extends keyof paths, M extends Method> = AnswerOf<paths, P, M>

/** The last argument of a call: may be left out when the path has no parameters and takes no body. */
export type Arguments<P extends keyof paths, M extends Method> = ArgumentsOf<paths, P, M>
