import type { AdapterMutant } from './adapter-mutant.js'

const at = (file: string): string => `../adapters/postgres/${file}.ts`

export const postgresMutants: readonly AdapterMutant[] = [
  // Defects by authors who had read SPEC.md and the adapters, and no test.
  {
    // A column is added or dropped after the look-up of a list and before it has its lock.
    name: 'a list decodes rows with the columns that were looked up before the lock',
    breaks:
      'A table that changes between look-up and list is looked up again, so rows have all columns of the version.',
    file: at('table-list'),
    edits: [
      [
        'const codec = access.codec(session, table)\n  const version = await',
        'const codec = access.codec(session, unlocked)\n  const version = await',
      ],
    ],
    test: 'postgres-faults/busy-tables.test.ts',
    named: 'between the look-up and the lock',
    server: 'postgres 18',
  },
  {
    // A batch with changes is compared with its version, or a mark is waited for while nothing else happens.
    name: 'a watch yields changes with the version of the poll before',
    breaks: 'After every batch the mirror is the table in the snapshot that its version names.',
    file: at('postgres-source'),
    edits: [
      [
        '          let batch: WatchBatch<T> = { events: delta.events ?? [], version: formatVersion(version) }',
        '          let batch: WatchBatch<T> = { events: delta.events ?? [], version: formatVersion(before) }',
      ],
      [
        '          ;({ version, fingerprint } = delta)\n',
        '          const before = version\n          ;({ version, fingerprint } = delta)\n',
      ],
    ],
    test: 'postgres/versions.test.ts',
    named: 'of a batch with changes includes them',
    server: 'postgres 18',
  },
  {
    // A condition is refused, and the same source is listed again.
    name: 'a condition counts as checked although the check refused it',
    breaks: 'A condition that depends on more than the row is refused, at each attempt.',
    file: at('table-access'),
    edits: [
      [
        '    const checked = await checkWhere(session, found, where)\n',
        "    const unchecked = { functions: [], definition: '' }\n    const checked = await checkWhere(session, found, where).catch(() => unchecked)\n",
      ],
    ],
    test: 'postgres/rows.test.ts',
    named: 'is refused at each attempt',
    server: 'postgres 18',
  },
  {
    // head is called while no watch is open, the connection succeeds, and the query fails (nothing is installed, no
    // right).
    name: 'head leaves its own connection open if its query fails',
    breaks: 'A call that has ended leaves no connection.',
    file: at('postgres-source'),
    edits: [
      [
        '    try {\n      return await readHead(session)\n    } finally {\n      await session.close()\n    }',
        '    const version = await readHead(session)\n    await session.close()\n    return version',
      ],
    ],
    test: 'postgres/versions.test.ts',
    named: 'without an installation end with the error',
    server: 'postgres 18',
  },
  {
    // The option client returns a promise, and the signal aborts before it resolves.
    name: 'a session connects although it was aborted while the client was being made',
    breaks: 'A source that is stopped, wherever it is, ends at once and leaves no connection.',
    file: at('session'),
    edits: [['    options.signal.throwIfAborted() // The factory may have taken long.\n', '']],
    test: 'postgres-faults/connections.test.ts',
    named: 'while the client is still being made',
    server: 'postgres 18',
  },
  {
    // A long response comes in pieces with pauses of more than a quarter of heartbeatTimeoutMs.
    name: 'silent periods of a connection are counted although bytes came between them',
    breaks: 'A response may take longer than heartbeatTimeoutMs as long as the connection receives bytes.',
    file: at('session'),
    edits: [
      [
        'periods = this.receivedAt === receivedAt ? periods + 1 : 0',
        'periods = this.receivedAt === receivedAt ? periods + 1 : periods',
      ],
    ],
    test: 'unit/adapters/postgres/session.test.ts',
    named: 'as long as bytes arrive between them',
  },
  {
    // A mirror looks through a pooler in transaction mode, and another client then gets the same server process.
    name: 'behind a pooler settings are made for the session, not for the transaction',
    breaks: 'Behind a pooler no setting leaks into other sessions.',
    file: at('session'),
    edits: [['SET LOCAL ${each}', 'SET ${each}']],
    test: 'postgres/pooler.test.ts',
    named: 'those of a mirror reach no other session',
  },
  {
    // A role loses BYPASSRLS after a list has read its version.
    name: 'a list leaves out the rows that row security hides from it',
    breaks: 'If row security begins to apply, the mirror fails with UNAUTHORIZED, and its rows stay.',
    file: at('table-list'),
    edits: [["  if (rls === undefined) await session.query('SET LOCAL row_security = off')\n", '']],
    test: 'postgres/row-security.test.ts',
    named: 'between the version of a list and its rows, hides no row',
    server: 'postgres 18',
  },
  {
    // A function that the condition calls is replaced while the watch is open.
    name: 'the shape does not contain the functions that the condition calls',
    breaks: 'If a function that the condition calls is replaced, one list shows the rows that it selects now.',
    file: at('called-functions'),
    edits: [
      ['  if (functions.length === 0) return shape\n', '  if (functions.length >= 0) return shape\n'],
      ['  if (functions.length === 0) return fingerprint\n', '  if (functions.length >= 0) return fingerprint\n'],
    ],
    test: 'postgres/conditions.test.ts',
    named: 'leads to one list',
    server: 'postgres 18',
  },
  {
    // The condition calls a function through an operator, or through another function.
    name: 'functions that a condition calls through others are not found',
    breaks: 'If such a function is replaced, one list shows the rows that the condition selects now.',
    file: at('called-functions'),
    edits: [
      ['UNION SELECT d.refclassid', "UNION SELECT DISTINCT 'pg_catalog.pg_proc'::pg_catalog.regclass::pg_catalog.oid"],
    ],
    test: 'postgres/conditions.test.ts',
    named: 'through an operator leads to one list',
    server: 'postgres 18',
  },
  {
    // A column gets another type, or a function is replaced by one that reads the clock, after the first check.
    name: 'a condition is checked once, whatever happens to the table and its functions',
    breaks: 'A condition depends only on the row: no row leaves it without a write.',
    file: at('table-access'),
    edits: [
      [
        '    return (await definitionOf(session, table)) === this.#checked?.definition',
        '    return (await definitionOf(session, table)) !== this.options.where',
      ],
    ],
    test: 'postgres/conditions.test.ts',
    named: 'is refused',
    server: 'postgres 18',
  },
  {
    // The condition passes an int to f(bigint), and f(int) is created.
    name: 'a function that fits better, and has the name of one that the condition calls, is not noticed',
    breaks: 'The rows of a mirror are selected by one function.',
    file: at('called-functions'),
    edits: [
      [
        'return `f.proname OPERATOR(pg_catalog.=) ANY (ARRAY (SELECT g.proname ',
        'return `f.oid OPERATOR(pg_catalog.=) ANY (ARRAY (SELECT g.oid ',
      ],
    ],
    test: 'postgres/conditions.test.ts',
    named: 'whose name gets a signature',
    server: 'postgres 18',
  },
  {
    // The search path of the role is changed, and the watch reconnects.
    name: 'a condition counts as checked although its names mean other functions',
    breaks: 'The rows of a mirror are selected by one function.',
    file: at('where-check'),
    edits: [["row?.['fingerprint'], row?.['path']]", "row?.['fingerprint']]"]],
    test: 'postgres/conditions.test.ts',
    named: 'means another function on a new search path',
    server: 'postgres 18',
  },
  {
    // The program sets `binary` of its clients, or of all clients by the defaults of pg.
    name: 'values in binary form are read as texts',
    breaks: 'A changed object equals the row, whatever options a client has.',
    file: at('session'),
    edits: [['    client.binary = false // COPY sends texts, and changes have to equal listed rows.\n', '']],
    test: 'postgres/clients.test.ts',
    named: 'that asks for values in binary form',
    server: 'postgres 18',
  },
  {
    // A policy of the reader calls a function, which is replaced while the watch is open.
    name: 'the access does not contain the functions that policies call',
    breaks: 'If a function that a policy calls is replaced, one list shows the rows that it shows now.',
    file: at('table-catalog'),
    edits: [[', ${functions})) FROM pg_catalog.pg_policy p', ')) FROM pg_catalog.pg_policy p']],
    test: 'postgres/row-security.test.ts',
    named: 'a function that a policy calls',
    server: 'postgres 18',
  },
  {
    // Another role may create functions in a schema of the reader's search path, as in public before Postgres 15.
    name: 'a poll calls a function of the search path whose signature fits better than that of Postgres',
    breaks: 'A reader runs no function of another role, and compares keys by the operators of Postgres.',
    file: at('delta-query'),
    edits: [['EXISTS (SELECT FROM pg_catalog.unnest(s.prepared) x', 'EXISTS (SELECT FROM unnest(s.prepared) x']],
    test: 'postgres/roles.test.ts',
    named: 'runs no function that another role',
    server: 'postgres 18',
  },
  {
    // A condition has 'today', and the next day comes.
    name: 'a condition may contain literals that the server replaces by the time',
    breaks: 'A condition depends only on the row: no row leaves it without a write.',
    file: at('where-check'),
    edits: [['if (timeWordsIn(predicate) < 2 * timeWordsIn(where)) {', 'if (predicate === where) {']],
    test: 'postgres/rows.test.ts',
    named: 'a literal that the server replaces by the time is refused',
    server: 'postgres 18',
  },
  {
    // More keys than maxDeltaRows change between two looks.
    name: 'the changed keys are cut off at maxDeltaRows, without one more that shows it',
    breaks: 'More than maxDeltaRows changed keys are VERSION_EXPIRED, and no change is lost.',
    file: at('delta-query'),
    edits: [['u LIMIT ${maxKeys + 1}', 'u LIMIT ${maxKeys}']],
    test: 'postgres/statements.test.ts',
    named: 'more than maxDeltaRows changed keys',
    server: 'postgres 18',
  },
  {
    // The first column of the table is not a key column, and is NULL, and the row is inserted or updated while a watch is
    // open.
    name: 'a changed row whose first mirrored column is NULL is delivered as a delete',
    breaks: 'A row that is there is in the mirror after it was changed.',
    file: at('delta-query'),
    edits: [
      ['for (const [kind, , found, ...texts] of rows)', 'for (const [kind, , , ...texts] of rows)'],
      ['if (found === null) events.push', 'if (texts[keyCount] == null) events.push'],
    ],
    test: 'postgres/rows.test.ts',
    named: 'whose first column is NULL and no key',
    server: 'postgres 18',
  },
  {
    // A transaction is open during a look and commits later, and the next look is not woken (wake none, or poll).
    name: 'the probe looks in the old snapshot for transactions that have ended',
    breaks: 'Changes of a transaction that was open while others committed are shown when it commits.',
    file: at('delta-query'),
    edits: [
      [
        'x WHERE pg_catalog.pg_visible_in_snapshot(x, pg_catalog.pg_current_snapshot()))\n        AND ${COVERS_FLOOR}',
        'x WHERE pg_catalog.pg_visible_in_snapshot(x, $3::pg_catalog.text::pg_catalog.pg_snapshot))\n        AND ${COVERS_FLOOR}',
      ],
    ],
    test: 'postgres/statements.test.ts',
    named: 'is not missed without a wake-up',
    server: 'postgres 18',
  },
  {
    // Nothing changes for some looks, and then something does without a notification.
    name: 'the time between two looks grows beyond the longest one',
    breaks: 'A change without a wake-up is seen after pollIntervalMs at the latest.',
    file: at('poll-timer'),
    edits: [['Math.min(this.#delayMs * 2, this.#longestMs)', 'Math.max(this.#delayMs * 2, this.#longestMs)']],
    test: 'unit/adapters/postgres/poll-timer.test.ts',
    named: 'doubles up to the longest',
  },
  {
    // The log has many rows, as after an hour of writes, and the server has statistics of it.
    name: 'the plan of a poll depends on the estimate that it reads a third of the log',
    breaks: 'A poll reads the rows of the log that are newer than its version, however large the log is.',
    file: at('session'),
    edits: [["  'enable_seqscan = off',\n", '']],
    test: 'postgres/plans.test.ts',
    named: 'read the new rows of a large log',
    server: 'postgres 18',
  },
  {
    // A row has a short text, and a large column that is parsed.
    name: 'the texts of a listed row are references to its line',
    breaks: 'The texts and the key of a listed row do not keep its other columns in memory.',
    file: at('row-codec'),
    edits: [['return field.length < SHORT ? field : ` ${field}`.slice(1)', 'return field']],
    test: 'unit/adapters/postgres/row-codec.test.ts',
    named: 'do not keep the rest of the row in memory',
  },
  {
    // The option client returns one and the same client at each call.
    name: 'a list does not report that the option client returns the same client twice',
    breaks: 'The same client again is an OptionError, with which synced() rejects.',
    file: at('client-factory'),
    edits: [
      [
        '    } catch (error) {\n      if (error instanceof OptionError) throw error // The next connection reports another error, if it lasts.\n    }',
        '    } catch {\n      // The next connection reports it, if it lasts.\n    }',
      ],
    ],
    test: 'postgres/clients.test.ts',
    named: 'that returns always the same client',
    server: 'postgres 18',
  },
  {
    // The server ends COPY with an error before its first row or just after a full page (cancelled, an error in the
    // condition).
    name: 'COPY that fails without a remaining line counts as complete',
    breaks: 'A failed list deletes nothing.',
    file: at('copy-out-stream'),
    edits: [
      [
        '    if (this.#error !== undefined) throw this.#error\n    if (this.#rows.length === 0) return undefined\n',
        '    if (this.#rows.length === 0) return undefined\n    if (this.#error !== undefined) throw this.#error\n',
      ],
    ],
    test: 'unit/adapters/postgres/copy-out.test.ts',
    named: 'of which none is left, rejects',
  },
  {
    // A line has a character of two bytes, and an ASCII text after it.
    name: 'a row of COPY is read from its bytes although they are not its characters',
    breaks: 'A listed object equals the row.',
    file: at('line-buffer'),
    edits: [['&& isAscii(block)) this', '&& block.length >= 0) this']],
    test: 'property/postgres-line-buffer.property.test.ts',
    named: 'with their bytes if each character is one byte',
  },
  {
    // Two messages of the server divide a line, and more lines follow than the buffer has space for.
    name: 'the beginning of a line of COPY is lost when the buffer is full',
    breaks: 'A listed object equals the row.',
    file: at('line-buffer'),
    edits: [['if (end + 1 < this.#used) this.#bytes.copyWithin(0, end + 1, this.#used)', '']],
    test: 'property/postgres-line-buffer.property.test.ts',
    named: 'with their bytes if each character is one byte',
  },
  {
    // A row of a list has a text of 600 MB.
    name: 'a line of COPY that is longer than a string can be becomes a string',
    breaks: 'A row that is too large is invalid, and the rows around it are read.',
    file: at('line-buffer'),
    edits: [['if (end - start > this.#longest) this', 'if (end - start > constants.MAX_STRING_LENGTH) this']],
    test: 'unit/adapters/postgres/copy-out.test.ts',
    named: 'longer than a string can be is invalid',
  },
  {
    // A text of 600 MB is written while the watch is open, or a proxy cuts a message off.
    name: 'an error of the parser of pg is thrown in the listener of the stream',
    breaks: 'What a server sends ends no process.',
    file: at('stream-guard'),
    edits: [
      ['  if (!isDataStream(stream)) return\n', '  if (!isDataStream(stream) || stream.off.length >= 0) return\n'],
    ],
    test: 'unit/adapters/postgres/session.test.ts',
    named: 'ends the session, and not the process',
  },
  {
    name: 'a change that is longer than a string can be is requested again and again',
    breaks: 'A row that is too large is invalid, and the other rows are followed.',
    file: at('delta-query'),
    edits: [['    if (isTooLong(error))\n', '    if (isTooLong(cause))\n']],
    test: 'unit/adapters/postgres/delta.test.ts',
    named: 'leads to a list, which reports the row',
  },
  {
    name: 'a text of a listed row is read from the first line of its block',
    breaks: 'A listed object equals the row.',
    file: at('table-list'),
    edits: [['codec.fromCopyLine(line, bytes, at),', 'codec.fromCopyLine(line, bytes, 0),']],
    test: 'postgres/keys.test.ts',
    named: 'by triggers for each statement, reads the same',
    server: 'postgres 18',
  },
  {
    name: 'a server that sends a list faster than it is read is not paused',
    breaks: 'A list keeps at most a few pages in memory.',
    file: at('copy-out-stream'),
    edits: [['if (this.#rows.length >= 4 * this.#pageSize && !this.#isDone) this.#setFlowing(false)', '']],
    test: 'unit/adapters/postgres/copy-out.test.ts',
    named: 'is paused, and resumed',
  },
  {
    name: "a user's parser of bigint that has the name of the driver's is not called",
    breaks: "Values are created by the parsers of pg, including the user's own.",
    file: at('driver-parsers'),
    edits: [
      [
        'if (KEEPING.has(parse.name) && hasResults(parse, TEXTS, keepText)) return',
        'if (KEEPING.has(parse.name)) return',
      ],
    ],
    test: 'property/postgres-driver-parsers.property.test.ts',
    named: 'of a user with the name',
  },
  {
    name: 'a long text with an escape is kept as its bytes',
    breaks: 'A listed object equals the row.',
    file: at('row-codec'),
    edits: [['isEscaped || bytes === undefined ? detached(text)', 'bytes === undefined ? detached(text)']],
    test: 'unit/adapters/postgres/row-codec.test.ts',
    named: 'escapes and nulls of a listed row are read in their fields alone',
  },
  {
    // A user registers a parser for timestamptz, as the documentation of pg shows.
    name: "a user's parser of timestamps is replaced by the faster one",
    breaks: "Values are created by the parsers of pg, including the user's own.",
    file: at('driver-parsers'),
    edits: [[" || parse.name !== 'parseDate'", '']],
    test: 'property/postgres-driver-parsers.property.test.ts',
    named: 'with a name of its own',
  },
  {
    name: 'a timestamp without a time zone is read as UTC',
    breaks: 'A timestamp has the value that pg reads from it.',
    file: at('timestamps'),
    edits: [
      [
        'return new Date(year, month - 1, day, hour, minute, second, milliseconds)',
        'return new Date(Date.UTC(year, month - 1, day, hour, minute, second, milliseconds))',
      ],
    ],
    test: 'property/postgres-driver-parsers.property.test.ts',
    named: 'in the time zone America',
  },
  {
    // The primary key names its columns in another order than the table has them, and a row is deleted.
    name: 'the key of a row has its columns in the order of the table, not of the key',
    breaks: 'The key in the store is that of the key columns in their order, for rows and deletes alike.',
    file: at('row-codec'),
    edits: [['      .sort((a, b) => a.keyPosition - b.keyPosition)\n', '']],
    test: 'postgres/keys.test.ts',
    named: 'by triggers for each statement, reads the same',
    server: 'postgres 18',
  },
  {
    // The key has two columns, and the option columns does not name the second.
    name: 'with columns only the first key column is mirrored by itself',
    breaks: 'The columns of the key always are mirrored, also those that the option columns leaves out.',
    file: at('table-catalog'),
    edits: [
      ['wanted.includes(column) || keyNames.includes(column)', 'wanted.includes(column) || column === keyNames[0]'],
    ],
    test: 'postgres/rows.test.ts',
    named: 'also if the choice names none',
    server: 'postgres 18',
  },
  {
    // A mark is taken by the transaction whose id is the xmax of the mirror's snapshot, and is waited for before the
    // next look.
    name: 'the first transaction after a snapshot counts as ended in it',
    breaks: 'waitFor(mark) resolves when the mirror shows what the transaction wrote.',
    file: at('postgres-version'),
    edits: [['return transaction < snapshot.xmax &&', 'return transaction <= snapshot.xmax &&']],
    test: 'postgres/marks.test.ts',
    named: 'is not reached before the commit',
    server: 'postgres 18',
  },
  {
    // A transaction commits after the last look with no later transaction id in use, and fresh() or waitFor(version)
    // is called.
    name: 'a snapshot covers a later one although a transaction still runs in it',
    breaks: 'fresh() resolves when everything that was committed before the call is shown.',
    file: at('postgres-version'),
    edits: [['  for (const transaction of later.running) if (hasEnded(transaction, earlier)) return false\n', '']],
    test: 'postgres/versions.test.ts',
    named: 'while a transaction was open does not include',
    server: 'postgres 18',
  },
  {
    // An UPDATE changes the key of a row in a table with triggers for each row, within one partition.
    name: 'row triggers do not log the old key of an update',
    breaks: 'A row whose key is changed is deleted under its old key.',
    file: at('install-sql'),
    edits: [
      ["IF TG_OP = 'DELETE' OR (TG_OP = 'UPDATE' AND (%4$s) IS DISTINCT FROM (%3$s)) THEN", "IF TG_OP = 'DELETE' THEN"],
    ],
    test: 'postgres/statements.test.ts',
    named: 'by triggers for each row arrives',
    server: 'postgres 18',
  },
  {
    // A transaction stays open beyond the trimmed time, commits, and the log is trimmed before a mirror that was
    // away resumes.
    name: 'trim removes log rows of transactions that still ran at the place it trims to',
    breaks: 'Nothing that a version may need is trimmed without that version being VERSION_EXPIRED.',
    file: at('log-sql'),
    edits: [[' AND pg_catalog.pg_visible_in_snapshot(xid, $1) LIMIT $2', ' LIMIT $2']],
    test: 'postgres/log.test.ts',
    named: 'loses what others committed',
    server: 'postgres 18',
  },
  {
    // A label of an enum is renamed while a watch of a table with a column of that type stays open.
    name: 'the fingerprint of a table leaves out the labels of its enums',
    breaks: 'A change of an enum is VERSION_EXPIRED (shape), and one list shows the new labels.',
    file: at('shape-sql'),
    edits: [
      [
        '      SELECT pg_catalog.hash_record_extended(ROW(e.xmin, e.ctid), 14) FROM own_type JOIN pg_catalog.pg_enum e ON e.enumtypid = own_type.oid\n      UNION ALL\n',
        '',
      ],
    ],
    test: 'postgres/fingerprint.test.ts',
    named: 'moves when the shape moves: types of columns',
    server: 'postgres 18',
  },
  {
    name: 'the command for a missing right does not name the table',
    breaks: 'The error of a missing right names the command that grants it.',
    file: at('session'),
    edits: [['?? postgresError(error, this.#client, this.#options.table)', '?? postgresError(error, this.#client)']],
    test: 'postgres/install.test.ts',
    named: 'the role can mirror the table; without it',
    server: 'postgres 18',
  },
  // Leases.
  {
    name: 'a lease is renewed again with the same renewal',
    breaks: 'A repeated renewal is refused.',
    file: at('leases/leases-sql'),
    edits: [['OR old_renewal >= new_renewal THEN', 'OR old_renewal > new_renewal THEN']],
    test: 'conformance/leases/postgres.test.ts',
    named: 'a repeated or lower renewal is refused',
    server: 'postgres 18',
  },
  {
    name: 'a lease is evicted although it was renewed',
    breaks: 'An eviction removes a record only if its renewal is unchanged.',
    file: at('leases/leases-sql'),
    edits: [[' AND l.renewal = e.renewal AND l.member <> of_member', ' AND l.member <> of_member']],
    test: 'conformance/leases/postgres.test.ts',
    named: 'an eviction leaves a record with another renewal',
    server: 'postgres 18',
  },
  {
    name: 'a lease gets the fence of the one before',
    breaks: 'Fences grow.',
    file: at('leases/leases-sql'),
    edits: [['DO UPDATE SET fence = greatest(g.fence + 1, ', 'DO UPDATE SET fence = least(g.fence, ']],
    test: 'conformance/leases/postgres.test.ts',
    named: 'a fence is greater than those of all requests',
    server: 'postgres 18',
  },
  {
    name: 'renewals of leases do not wait for each other',
    breaks: 'Of two renewals at the same time, at least one sees the other.',
    file: at('leases/leases-sql'),
    edits: [["    RAISE EXCEPTION 'renew_lease needs", "    -- RAISE EXCEPTION 'renew_lease needs"]],
    test: 'postgres/leases.test.ts',
    named: 'a call at another isolation level is refused',
    server: 'postgres 18',
  },
  {
    name: 'leases are committed as the role commits',
    breaks: 'A confirmed renewal survives a crash of the server.',
    file: at('leases/leases-sql'),
    edits: [["PERFORM pg_catalog.set_config('synchronous_commit', 'on', true);", 'NULL;']],
    test: 'postgres/leases.test.ts',
    named: 'is committed durably',
    server: 'postgres 18',
  },
  {
    name: 'every renewal of a lease notifies',
    breaks: 'A renewal that changes nothing else sends no notification.',
    file: at('leases/leases-sql'),
    edits: [['is_changed := is_evicted OR old_body IS DISTINCT FROM new_body', 'is_changed := true']],
    test: 'postgres/leases.test.ts',
    named: 'renewals that change nothing else send no notification',
    server: 'postgres 18',
  },
  {
    name: 'a pool has no error listener after its first leases have ended',
    breaks: 'A pool has an error listener while leases use it.',
    file: at('leases/pg-pool'),
    edits: [["if (left === 0) pool.off?.('error', ignoreError)", "pool.off?.('error', ignoreError)"]],
    test: 'postgres/leases.test.ts',
    named: 'a pool without an error listener survives',
    server: 'postgres 18',
  },
  {
    // A role has a temporary type with the name of one that the function uses, and a cast to it.
    name: 'mark runs as its owner, and looks types up in pg_temp first',
    breaks: 'An installation lets no role do what the role could not do before.',
    file: at('epoch-sql'),
    edits: [
      [
        "listwatch.mark() RETURNS pg_catalog.text LANGUAGE sql VOLATILE SET search_path = pg_catalog, pg_temp AS $$\n  SELECT pg_catalog.concat_ws('.', 'pgm1', listwatch.system_id(), listwatch.database_id()",
        "listwatch.mark() RETURNS pg_catalog.text LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = '' AS $$\n  SELECT pg_catalog.concat_ws('.', 'pgm1', listwatch.system_id()::text, listwatch.database_id()",
      ],
    ],
    test: 'postgres/privileges.test.ts',
    named: 'does not become the installer through mark',
    server: 'postgres 18',
  },
  {
    // The owner of a table changes the type of a key column to one of its own that has a cast.
    name: 'a trigger for each row reads a key whose column has another type',
    breaks: 'An installation lets no role do what the role could not do before.',
    file: at('install-sql'),
    edits: [['IF (%7$s) IS NOT TRUE THEN', 'IF (%7$s) IS NULL THEN']],
    test: 'postgres/privileges.test.ts',
    named: 'by triggers of level row .*through a type of its own with a cast',
    server: 'postgres 18',
  },
  {
    // The same, with triggers for each statement.
    name: 'a trigger for each statement reads keys whose column has another type',
    breaks: 'An installation lets no role do what the role could not do before.',
    file: at('install-sql'),
    edits: [['IF EXISTS (SELECT FROM %5$s WHERE %4$s) THEN', 'IF EXISTS (SELECT FROM %5$s WHERE true OR %4$s) THEN']],
    test: 'postgres/privileges.test.ts',
    named: 'by triggers of level statement .*through a type of its own with a cast',
    server: 'postgres 18',
  },
  {
    // A role attaches the function to a table of its own.
    name: 'any role may execute the trigger functions',
    breaks: 'An installation lets no role do what the role could not do before.',
    file: at('install-sql'),
    edits: [['    PERFORM listwatch.revoke_all(made.fn);\n', '']],
    test: 'postgres/privileges.test.ts',
    named: 'cannot be attached to another table by a role',
    server: 'postgres 18',
  },
  {
    // Row security applies to a role that was granted the right to mirror.
    name: 'a log shows its keys to a role that may not see all rows',
    breaks: 'A log shows no key of a row that the table hides.',
    file: at('install-sql'),
    edits: [
      [
        "FOR SELECT USING ((SELECT listwatch.shows_keys(%L::pg_catalog.regclass)))', log, log)",
        "FOR SELECT USING (true)', log)",
      ],
    ],
    test: 'postgres/privileges.test.ts',
    named: 'does not see the keys of hidden rows in the log',
    server: 'postgres 18',
  },
  {
    // A role was granted other columns than those of the key.
    name: 'a log shows its keys to a role that may not read the key columns',
    breaks: 'A log shows no key of a row that the table hides.',
    file: at('log-sql'),
    edits: [["WHERE pg_catalog.has_column_privilege(a.attrelid, a.attnum, 'SELECT') IS NOT TRUE))", 'WHERE false))']],
    test: 'postgres/privileges.test.ts',
    named: 'if it may read other columns only',
    server: 'postgres 18',
  },
  {
    // A transaction has trimmed, and stays open.
    name: 'a trim waits for the trims of open transactions',
    breaks: 'Several sessions may trim at a time, and stay open.',
    file: at('log-sql'),
    edits: [['LIMIT $2 FOR UPDATE SKIP LOCKED', 'LIMIT $2 FOR UPDATE']],
    test: 'postgres/log.test.ts',
    named: 'loses rows only once, if two sessions trim',
    server: 'postgres 18',
  },
  {
    // Two roles use leases of different groups.
    name: 'every role that renews leases may end those of all groups',
    breaks: 'A role cannot renew or end the leases of a group that it may not use.',
    file: at('leases/leases-sql'),
    edits: [
      [
        'CREATE POLICY used ON listwatch.leases USING (group_name = ANY (ARRAY (SELECT r.group_name FROM listwatch.lease_rights r)));',
        'CREATE POLICY used ON listwatch.leases USING (true);',
      ],
      [
        'SET search_path = pg_catalog, pg_temp AS $$\nBEGIN\n  PERFORM listwatch.assert_group(of_group);\n  UPDATE',
        'SET search_path = pg_catalog, pg_temp AS $$\nBEGIN\n  UPDATE',
      ],
    ],
    test: 'postgres/privileges.test.ts',
    named: 'cannot make a member leave',
    server: 'postgres 18',
  },
  {
    // A trigger of a role's own table has the name of an installed one.
    name: 'a trigger of another role counts as that of a log',
    breaks: 'No role can make another relation pass for a log.',
    file: at('log-sql'),
    edits: [
      [
        "ON f.oid = t.tgfoid AND f.pronamespace = 'listwatch'::pg_catalog.regnamespace\n    JOIN pg_catalog.pg_class l ON l.relnamespace = f.pronamespace",
        "ON f.oid = t.tgfoid\n    JOIN pg_catalog.pg_class l ON l.relnamespace = 'listwatch'::pg_catalog.regnamespace",
      ],
    ],
    test: 'postgres/privileges.test.ts',
    named: 'is not reported as a log',
    server: 'postgres 18',
  },
  {
    // The owner of a table adds a trigger to it that calls a function of another role.
    name: 'an uninstallation drops the functions of all triggers whose names begin with that of ours',
    breaks: 'An uninstallation drops no function of another role.',
    file: at('install-sql'),
    edits: [
      [
        "WHERE g.tgrelid = rel AND NOT g.tgisinternal AND g.tgparentid = 0 AND pg_catalog.starts_with(f.proname, log_name || '_') LOOP",
        'WHERE g.tgrelid = rel AND NOT g.tgisinternal AND g.tgparentid = 0 LOOP',
      ],
      [
        "JOIN pg_catalog.pg_proc f ON f.oid = g.tgfoid AND f.pronamespace = 'listwatch'::pg_catalog.regnamespace\n            WHERE",
        'JOIN pg_catalog.pg_proc f ON f.oid = g.tgfoid\n            WHERE',
      ],
    ],
    test: 'postgres/privileges.test.ts',
    named: 'drops no function of another role',
    server: 'postgres 18',
  },
  {
    // The type of a key column is changed while a mirror has an open watch.
    name: 'a poll compares keys whose column has another type',
    breaks: 'A reader runs no function of another role, and compares keys by the operators of Postgres.',
    file: at('delta-query'),
    edits: [["t WHERE ${isKnown.join(' AND ')} AND ${isKey}", 't WHERE ${isKey}']],
    test: 'postgres/privileges.test.ts',
    named: 'no role that mirrors it',
    server: 'postgres 18',
  },
  {
    // A role creates an operator in a schema of the search path.
    name: 'a migration looks names up on the search path of its role',
    breaks: 'An installation lets no role do what the role could not do before.',
    file: at('change-log-admin'),
    edits: [['${lookUp}SET LOCAL search_path = pg_catalog, pg_temp;', '${lookUp}']],
    test: 'postgres/privileges.test.ts',
    named: 'are not called by a column default',
    server: 'postgres 18',
  },
  {
    // The owner of the schema replaces the body of a function, and a superuser mirrors.
    name: 'a superuser calls the functions of any owner',
    breaks: 'An installation lets no role do what the role could not do before.',
    file: at('trusted-owner'),
    edits: [['  if (untrusted == null) return\n', '  if (untrusted !== undefined) return\n']],
    test: 'postgres/privileges.test.ts',
    named: 'is refused, and so are its status',
    server: 'postgres 18',
  },
  {
    // A key column gets a type that has an assignment to the old one.
    name: 'the status does not compare the types of key columns',
    breaks: 'Another type or collation of a key column is a problem of the log.',
    file: at('shape-sql'),
    edits: [
      [
        'WHERE l.relid = rel AND (a.attcollation <> g.attcollation OR NOT CASE',
        'WHERE l.relid = rel AND (a.attcollation <> g.attcollation AND NOT CASE',
      ],
    ],
    test: 'postgres/privileges.test.ts',
    named: 'its mirrors fail with the command',
    server: 'postgres 18',
  },
  {
    // A database has logs of the version before.
    name: 'an installation leaves the trigger functions of other tables as they were',
    breaks: 'An installation over an older one replaces all of its functions.',
    file: at('schema-sql'),
    edits: [['    PERFORM listwatch.define(l.relid, l.log);\n', '    NULL;\n']],
    test: 'postgres/privileges.test.ts',
    named: 'of an older version are replaced',
    server: 'postgres 18',
  },
]
