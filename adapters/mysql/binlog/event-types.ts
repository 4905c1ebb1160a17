/** The types of events that the reader knows. From 160 on they are those of MariaDB. */
export const EventType = {
  query: 2,
  stop: 3,
  rotate: 4,
  intvar: 5,
  rand: 13,
  userVar: 14,
  formatDescription: 15,
  xid: 16,
  beginLoadQuery: 17,
  executeLoadQuery: 18,
  tableMap: 19,
  writeRowsV1: 23,
  updateRowsV1: 24,
  deleteRowsV1: 25,
  incident: 26,
  heartbeat: 27,
  ignorable: 28,
  rowsQuery: 29,
  writeRows: 30,
  updateRows: 31,
  deleteRows: 32,
  gtid: 33,
  anonymousGtid: 34,
  previousGtids: 35,
  transactionContext: 36,
  viewChange: 37,
  xaPrepare: 38,
  partialUpdateRows: 39,
  transactionPayload: 40,
  heartbeatV2: 41,
  taggedGtid: 42,
  annotateRows: 160,
  binlogCheckpoint: 161,
  mariadbGtid: 162,
  gtidList: 163,
  startEncryption: 164,
  compressedQuery: 165,
  compressedWriteRowsV1: 166,
  compressedUpdateRowsV1: 167,
  compressedDeleteRowsV1: 168,
  compressedWriteRows: 169,
  compressedUpdateRows: 170,
  compressedDeleteRows: 171,
} as const

const WITHOUT_ROWS = new Set<number>([
  EventType.stop,
  EventType.intvar,
  EventType.rand,
  EventType.userVar,
  EventType.beginLoadQuery,
  EventType.ignorable,
  EventType.rowsQuery,
  EventType.previousGtids,
  EventType.transactionContext,
  EventType.viewChange,
  EventType.annotateRows,
  EventType.binlogCheckpoint,
  EventType.gtidList,
  EventType.startEncryption,
  9, // a block of a loaded file
  11, // the end of a loaded file
])

const IGNORABLE_FLAG = 0x80

/** Whether an event may change rows. A type that is not known may, unless the server says that it can be ignored. */
export function mayChangeRows(type: number, flags: number): boolean {
  return !WITHOUT_ROWS.has(type) && (flags & IGNORABLE_FLAG) === 0
}

export interface RowsForm {
  readonly action: 'write' | 'update' | 'delete'
  /** Whether the header of the rows has additional data. */
  readonly isV2: boolean
  readonly isCompressed: boolean
  /** Whether the images after an update have a part of a JSON value only. */
  readonly isPartial: boolean
}

const FORMS: ReadonlyMap<number, RowsForm> = new Map([
  ...forms(EventType.writeRowsV1, { isV2: false, isCompressed: false }),
  ...forms(EventType.writeRows, { isV2: true, isCompressed: false }),
  ...forms(EventType.compressedWriteRowsV1, { isV2: false, isCompressed: true }),
  ...forms(EventType.compressedWriteRows, { isV2: true, isCompressed: true }),
  [EventType.partialUpdateRows, { action: 'update', isV2: true, isCompressed: false, isPartial: true }],
])

export function rowsFormOf(type: number): RowsForm | undefined {
  return FORMS.get(type)
}

function forms(first: number, form: { readonly isV2: boolean; readonly isCompressed: boolean }): [number, RowsForm][] {
  const actions = ['write', 'update', 'delete'] as const
  return actions.map((action, index) => [first + index, { ...form, action, isPartial: false }])
}
