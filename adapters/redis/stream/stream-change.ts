/** What an entry says of one key: the object that is there now, that there is none any more, or that it makes no sense. */
export type StreamChange<T> =
  | { readonly key: string; readonly object: T | undefined }
  | { readonly key: string; readonly error: unknown }

/**
 * What an entry says: of one key, of several, or of none (`undefined`). Where it throws, nobody knows of which key it
 * spoke: then the mirror names an invalid object without a key, and reads everything again, at most once per 5 minutes.
 */
export type StreamDecode<T> = (
  fields: ReadonlyMap<string, string>,
  id: string,
) => StreamChange<T> | readonly StreamChange<T>[] | undefined
