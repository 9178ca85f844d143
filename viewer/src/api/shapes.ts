/** Types of requests and answers of an API, taken from the types that its document was made into (`paths`). */

/** A method that the app uses. */
export type Method = 'get' | 'post' | 'put' | 'patch' | 'delete'

type Operation<Paths, P extends keyof Paths, M extends Method> = M extends keyof Paths[P] ? Paths[P][M] : never

/** Paths that answer to a method. */
export type PathsOf<Paths, M extends Method> = {
  [P in keyof Paths]: Operation<Paths, P, M> extends { responses: unknown } ? P : never
}[keyof Paths]

type Parameters<Paths, P extends keyof Paths, M extends Method> =
  Operation<Paths, P, M> extends { parameters: infer Found } ? Found : never

/** The parts of a path that are written in braces, or nothing when it has none. */
export type ParamsOf<Paths, P extends keyof Paths, M extends Method> =
  Parameters<Paths, P, M> extends { path: infer Found } ? Found : undefined

/** The query of a request, every part optional that has a default. */
export type QueryOf<Paths, P extends keyof Paths, M extends Method> =
  Parameters<Paths, P, M> extends { query?: infer Found } ? Exclude<Found, undefined> : undefined

/** The JSON that is sent along. */
export type BodyOf<Paths, P extends keyof Paths, M extends Method> =
  Operation<Paths, P, M> extends { requestBody: { content: { 'application/json': infer Found } } }
    ? Found
    : Operation<Paths, P, M> extends { requestBody?: { content: { 'application/json': infer Found } } }
      ? Found | undefined
      : undefined

type Content<Answer> = Answer extends { content: { 'application/json': infer Found } } ? Found : undefined

type Responses<Found> = Found extends { 200: infer Ok }
  ? Content<Ok>
  : Found extends { 201: infer Made }
    ? Content<Made>
    : Found extends { 202: infer Accepted }
      ? Content<Accepted>
      : undefined

/** What comes back when all is well. */
export type AnswerOf<Paths, P extends keyof Paths, M extends Method> =
  Operation<Paths, P, M> extends { responses: infer Found } ? Responses<Found> : never

type WithParams<Paths, P extends keyof Paths, M extends Method> =
  ParamsOf<Paths, P, M> extends undefined ? { params?: undefined } : { params: ParamsOf<Paths, P, M> }

type WithBody<Paths, P extends keyof Paths, M extends Method> =
  undefined extends BodyOf<Paths, P, M> ? { body?: BodyOf<Paths, P, M> } : { body: BodyOf<Paths, P, M> }

/** Everything that a request may carry. */
export type RequestOf<Paths, P extends keyof Paths, M extends Method> = WithParams<Paths, P, M> &
  WithBody<Paths, P, M> & { query?: QueryOf<Paths, P, M>; signal?: AbortSignal }

/** The last argument of a call: may be left out when the path has no parameters and takes no body. */
export type ArgumentsOf<Paths, P extends keyof Paths, M extends Method> =
  Record<never, never> extends RequestOf<Paths, P, M>
    ? [request?: RequestOf<Paths, P, M>]
    : [request: RequestOf<Paths, P, M>]
