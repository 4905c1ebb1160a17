/** A change of one key: its new object, undefined if it was deleted, or the error of an invalid object. */
export type StreamChange<T> =
  | { readonly key: string; readonly object: T | undefined }
  | { readonly key: string; readonly error: unknown }

/**
 * Returns the changes of an entry: one, several, or `undefined` for none. If it throws, the key is unknown: the mirror
 * reports an invalid object without a key, and lists again, at most once per 5 minutes.
 */
export type StreamDecode<T> = (
  fields: ReadonlyMap<string, string>,
  id: string,
) => StreamChange<T> | readonly StreamChange<T>[] | undefined
