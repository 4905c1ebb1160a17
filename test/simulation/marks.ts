/** Interesting states. A campaign that never reaches one of them is blind there, and fails. */
const marks = [
  'a list broke off between two pages',
  'the token of a page expired',
  'the collection changed while it was listed',
  'a list was refused as stale',
  'a list was cut off by its time-out',
  'a silent watch was cut off by its time-out',
  'the history was compacted under an open watch',
  'the history was compacted during a backoff',
  'an event older than the stream came',
  'the collection was restored while a handler was stuck',
  'the collection was restored while a list was on its way',
  'a key was deleted and written again while nobody watched',
  'the opens were as far apart as they get',
  'a fatal error, then a recovery',
  'a relist while a queue was full',
  'a relist was asked for during a list',
  'a subscription overflowed and merged',
  'a subscription overflowed and was closed',
  'a subscription began inside a handler',
  'a subscription closed itself inside a handler',
  'an index was added inside a handler',
  'an informer was stopped inside a handler',
  'an informer was stopped in the middle of a list',
  'an informer was stopped in the middle of a slice',
  'an informer was stopped during a backoff',
  'an informer was stopped while a handler was stuck',
  'a wait ended because the epoch changed',
  'a wait ended because its time was over',
  'a snapshot outlived a relist',
  'an invalid object became valid by a list',
  'a reconcile failed and then succeeded',
  'a first list found nothing',
  'a batch told two changes of a key',
  'the audit found a difference',
  'a follower was told again what it knew',
  'a controller looked again at what it had done',
  'a stop let somebody handle what waited',
  'the time to handle what waited was over',
  'the wall clock jumped under an open watch',
  'something that nobody understands was left out',
  'the source was read again for what was left out',
  'a field in the store changed by itself',
  'the schema refused an object',
  'the queue by hand held a key twice',
  'the queue by hand merged after an overflow',
  'the queue by hand was relisted while it was full',
] as const

/** The same over a set of sources. */
const marksOfSets = [
  'a source came back',
  'a source was taken out in the middle of a list',
  'a source was taken out during a backoff',
  'the last source was taken out',
  'a source failed while another was live',
  'a set changed inside a handler',
  'a set was read by another informer',
  'two sources gave one key',
  'a key went from one source to another',
  'a wait ended because its source was taken out',
  'a snapshot outlived a source',
  'a batch was merged of several sources',
  'the audit of one source found a difference',
] as const

/** The same with a group of informers. */
const marksOfGroups = [
  'a member waited for its turn',
  'a member was stopped while it waited for its turn',
  'a group held a group',
  'a group was refused',
] as const

export const marksOf = { one: marks, set: marksOfSets, group: marksOfGroups } as const

export type Mark = (typeof marksOf)[keyof typeof marksOf][number]
