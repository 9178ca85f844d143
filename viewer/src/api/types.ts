/** Types of requests and answers, taken from the types that the API's document was made into. */
import type { components, paths } from '../../types/schema'

/** Documents of the API by name: `Schema<'RunSummary'>`. */
export type Schema<Name extends keyof components['schemas']> = components['schemas'][Name]

/** A method that the app uses. */
export type Method = 'get' | 'post' | 'put' | 'patch' | 'delete'

type Operation<P extends keyof paths, M extends Method> = M extends keyof paths[P] ? paths[P][M] : never

/** Paths that answer to a method. */
export type PathsWith<M extends Method> = {
  [P in keyof paths]: Operation<P, M> extends { responses: unknown } ? P : never
}[keyof paths]

type Parameters<P extends keyof paths, M extends Method> =
  Operation<P, M> extends { parameters: infer Found } ? Found : never

/** The parts of a path that are written in braces, or nothing when it has none. */
export type Params<P extends keyof paths, M extends Method> =
  Parameters<P, M> extends { path: infer Found } ? Found : undefined

/** The query of a request, every part optional that has a default. */
export type Query<P extends keyof paths, M extends Method> =
  Parameters<P, M> extends { query?: infer Found } ? Exclude<Found, undefined> : undefined

type Body<P extends keyof paths, M extends Method> =
  Operation<P, M> extends { requestBody: { content: { 'application/json': infer Found } } }
    ? Found
    : Operation<P, M> extends { requestBody?: { content: { 'application/json': infer Found } } }
      ? Found | undefined
      : undefined

type Content<Response> = Response extends { content: { 'application/json': infer Found } } ? Found : undefined

type Responses<Found> = Found extends { 200: infer Ok }
  ? Content<Ok>
  : Found extends { 201: infer Made }
    ? Content<Made>
    : Found extends { 202: infer Accepted }
      ? Content<Accepted>
      : undefined

/** What comes back when all is well. */
export type Answer<P extends keyof paths, M extends Method> =
  Operation<P, M> extends { responses: infer Found } ? Responses<Found> : never

type WithParams<P extends keyof paths, M extends Method> =
  Params<P, M> extends undefined ? { params?: undefined } : { params: Params<P, M> }

type WithBody<P extends keyof paths, M extends Method> =
  undefined extends Body<P, M> ? { body?: Body<P, M> } : { body: Body<P, M> }

type Request<P extends keyof paths, M extends Method> = WithParams<P, M> &
  WithBody<P, M> & { query?: Query<P, M>; signal?: AbortSignal }

/** The last argument of a call: may be left out when the path has no parameters and takes no body. */
export type Arguments<P extends keyof paths, M extends Method> =
  Record<never, never> extends Request<P, M> ? [request?: Request<P, M>] : [request: Request<P, M>]
