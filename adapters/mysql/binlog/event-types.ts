/** The types of events that the reader reads. From 160 on they are those of MariaDB. */
export const EventType = {
  query: 2,
  rotate: 4,
  formatDescription: 15,
  xid: 16,
  executeLoadQuery: 18,
  tableMap: 19,
  writeRowsV1: 23,
  incident: 26,
  heartbeat: 27,
  writeRows: 30,
  gtid: 33,
  anonymousGtid: 34,
  xaPrepare: 38,
  partialUpdateRows: 39,
  transactionPayload: 40,
  heartbeatV2: 41,
  taggedGtid: 42,
  mariadbGtid: 162,
  compressedQuery: 165,
  compressedWriteRowsV1: 166,
  compressedWriteRows: 169,
} as const

/** Other types of events that change no row. */
const WITHOUT_ROWS = new Set([
  3, // stop
  5, // a value for AUTO_INCREMENT
  13, // a seed of RAND()
  14, // a user variable
  17, // the first block of a loaded file
  28, // an event that may be ignored
  29, // the text of a statement with rows
  35, // the GTIDs of earlier files
  36, // of Group Replication
  37, // of Group Replication
  160, // the text of a statement with rows
  161, // a checkpoint
  163, // the GTIDs of earlier files
  164, // the start of encryption
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
