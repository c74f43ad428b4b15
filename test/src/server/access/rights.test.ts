import t from 'tap'
import { DATA_OPS, type DataRequest } from '../../../../protocol/data-request.js'
import { WarpdexError } from '../../../../protocol/errors.js'
import { CONTROL_OPS, type ControlRequest } from '../../../../protocol/messages.js'
import { RIGHTS } from '../../../../protocol/rights.js'
import { authorise, authoriseData, Rights } from '../../../../src/server/access/rights.js'

const on = (index: string) => new Rights([{ index, allow: ['read'] }])

t.test('patterns', async (t) => {
  const cases: readonly [pattern: string, matching: readonly string[], other: readonly string[]][] = [
    ['orders', ['orders'], ['orders1', 'order', 'Orders', '']],
    ['orders-*', ['orders-', 'orders-1', 'orders-*'], ['orders', 'my-orders-1']],
    ['*-log', ['-log', 'a-log', '*-log'], ['log', 'a-logs']],
    ['a*a', ['aa', 'aba', 'aaa'], ['a', 'ab', 'ba']],
    ['a*b*c', ['abc', 'axbxc', 'abbcc', 'abcbc'], ['ac', 'acb', 'abcd', 'ab']],
    ['*b*', ['b', 'abc', 'bb'], ['', 'ac']],
    ['*ab*ab*', ['abab', 'xabxabx'], ['aba', 'ab', 'aab']],
    ['ab*ba', ['abba', 'abxba'], ['aba']],
    ['a.c', ['a.c'], ['abc']],
    ['**', ['', 'x'], []],
  ]
  for (const [pattern, matching, other] of cases) {
    for (const name of matching) t.ok(on(pattern).may('read', name), `${pattern} has ${name}`)
    for (const name of other) t.notOk(on(pattern).may('read', name), `${pattern} has not ${name}`)
  }
  const slow = on('*a'.repeat(50))
  t.notOk(slow.may('read', `${'a'.repeat(49)}b`), 'a pattern of many parts is no work')
})

t.test('every operation on an index needs one right, and a missing one is named', async (t) => {
  const needs = new Map<string, string>()
  // These need two, see below.
  for (const op of CONTROL_OPS.filter((op) => op !== 'createRelationIndex' && op !== 'changeRows')) {
    for (const right of RIGHTS) {
      const rights = new Rights([{ index: 'a*', allow: [right] }])
      const asked = { id: 1, op, index: 'ab', relation: 'ab', keyType: 'u32' } as unknown as ControlRequest
      try {
        authorise({ rights, who: 'the token "x"' }, asked)
        needs.set(op, needs.has(op) ? 'any' : right)
      } catch (error) {
        t.match(error, {
          code: 'UNAUTHORISED',
          message: /the right "[a-z]+" on "ab"; the token "x" lacks it/,
        })
      }
    }
    if (needs.get(op) === 'any') continue
    const elsewhere = { id: 1, op, index: 'b', relation: 'b' } as unknown as ControlRequest
    const onOthers = new Rights([{ index: 'a*', allow: RIGHTS }])
    t.throws(() => authorise({ rights: onOthers, who: 'x' }, elsewhere), { code: 'UNAUTHORISED' })
  }
  t.strictSame(Object.fromEntries(needs), {
    hello: 'any',
    cancel: 'any',
    cluster: 'any',
    position: 'any',
    // Each relation that a query names is looked at when it is carried out.
    query: 'any',
    queryNext: 'any',
    queryEnd: 'any',
    // Each of its parts is looked at as it would be alone.
    batch: 'any',
    listIndexes: 'any',
    // On any index.
    openVersion: 'read',
    closeVersion: 'any',
    stats: 'any',
    createIndex: 'create',
    dropIndex: 'drop',
    // And more, on both names.
    renameIndex: 'drop',
    swapIndexes: 'drop',
    snapshot: 'snapshot',
    backup: 'backup',
    handOver: 'snapshot',
    slowRequests: 'any',
    // A new one needs the right to snapshots of all indexes.
    calibrate: 'any',
    // Whoever has any right on an index may open it.
    open: 'any',
    createRelation: 'create',
    dropRelation: 'drop',
    listRelations: 'any',
    append: 'write',
    readRelation: 'read',
  })
  const over = { id: 1, op: 'createRelationIndex', index: 'a', relation: 'b' } as unknown as ControlRequest
  const creator = { index: 'a', allow: ['create'] } as const
  authorise({ rights: new Rights([creator, { index: 'b', allow: ['read'] }]), who: 'x' }, over)
  t.throws(() => authorise({ rights: new Rights([creator]), who: 'x' }, over), { message: /"read" on "b"/ })
  t.throws(() => authorise({ rights: new Rights([{ index: '*', allow: ['read'] }]), who: 'x' }, over), {
    message: /"create" on "a"/,
  })
  const change = {
    id: 1,
    op: 'changeRows',
    relation: 'a',
    where: {},
    set: {},
    lists: [],
    spread: undefined,
    writeId: 1,
  } as const
  for (const allow of ['read', 'write'] as const) {
    const rights = new Rights([{ index: 'a', allow: [allow] }])
    const lacking = allow === 'read' ? /"write" on "a"/ : /"read" on "a"/
    t.throws(() => authorise({ rights, who: 'x' }, change), { code: 'UNAUTHORISED', message: lacking })
  }
  authorise({ rights: new Rights([{ index: 'a', allow: ['read', 'write'] }]), who: 'x' }, change)
  const changes = [
    { id: 1, op: 'renameIndex', index: 'a', to: 'b' },
    { id: 1, op: 'swapIndexes', index: 'a', with: 'b' },
  ] as const
  const needed = ['read', 'write', 'create', 'drop'] as const
  for (const change of changes) {
    authorise({ rights: new Rights([{ index: '*', allow: needed }]), who: 'x' }, change)
    for (const [name, other] of ['ab', 'ba']) {
      for (const lacking of needed) {
        const allow = needed.filter((right) => right !== lacking)
        const rights = new Rights([
          { index: name, allow: needed },
          { index: other, allow },
        ])
        const message = new RegExp(`needs the right "${lacking}" on "${other}"; x lacks it`)
        t.throws(() => authorise({ rights, who: 'x' }, change), { code: 'UNAUTHORISED', message })
      }
    }
  }
  const kept = {
    id: 1,
    op: 'query',
    query: {},
    sql: undefined,
    lists: [],
    tables: [],
    spread: new Map(),
    plan: false,
    explain: false,
    keep: { name: 'a', seconds: 1 },
  } as const
  authorise({ rights: new Rights([creator]), who: 'x' }, kept)
  t.throws(() => authorise({ rights: new Rights([{ index: 'a', allow: ['read'] }]), who: 'x' }, kept), {
    message: /query needs the right "create" on "a"/,
  })
})

t.test('requests about all indexes', async (t) => {
  const one = new Rights([{ index: 'a', allow: ['snapshot'] }])
  authorise({ rights: one, who: 'x' }, { id: 1, op: 'snapshot' })
  authorise({ rights: Rights.none, who: 'x' }, { id: 1, op: 'stats' })
  authorise({ rights: Rights.none, who: 'x' }, { id: 1, op: 'listIndexes' })
  t.throws(() => authorise({ rights: on('*'), who: 'x' }, { id: 1, op: 'snapshot' }), {
    code: 'UNAUTHORISED',
    message: /x lacks the right "snapshot" on any index/,
  })
  const backup = { id: 1, op: 'backup' } as const
  authorise({ rights: Rights.all, who: 'x' }, backup)
  t.throws(() => authorise({ rights: new Rights([{ index: 'a', allow: ['backup'] }]), who: 'x' }, backup), {
    code: 'UNAUTHORISED',
    message: /x lacks the right "backup" on all indexes/,
  })
  t.throws(() => authorise({ rights: one, who: 'x' }, { id: 1, op: 'handOver', to: undefined }), {
    message: /x lacks the right "snapshot" on all indexes/,
  })
  const slow = { id: 1, op: 'slowRequests', after: 0 } as const
  authorise({ rights: new Rights([{ index: '*', allow: ['stats'] }]), who: 'x' }, slow)
  t.throws(() => authorise({ rights: one, who: 'x' }, slow), {
    code: 'UNAUTHORISED',
    message: /x lacks the right "stats" on all indexes/,
  })
  authorise({ rights: Rights.none, who: 'x' }, { id: 1, op: 'calibrate', again: false })
  const again = { id: 1, op: 'calibrate', again: true } as const
  authorise({ rights: new Rights([{ index: '*', allow: ['snapshot'] }]), who: 'x' }, again)
  t.throws(() => authorise({ rights: one, who: 'x' }, again), {
    code: 'UNAUTHORISED',
    message: /x lacks the right "snapshot" on all indexes/,
  })
  t.throws(() => authorise({ rights: one, who: 'x' }, { id: 1, op: 'open', index: 'b' }), {
    code: 'UNAUTHORISED',
  })
  t.ok(Rights.all.mayEverywhere('drop'))
  t.notOk(one.mayEverywhere('snapshot'))
  t.ok(on('*').mayEverywhere('stats'), 'a right to read is one to figures')
})

t.test('whoever may not touch an index is not told whether there is one', async (t) => {
  const asked = (op: DataRequest['op']): DataRequest => ({
    ...{ id: 1, op, handle: 7, generation: 1, count: 0 },
    columns: {},
  })
  const found = { definition: { name: 'ab' } }
  const engine = { openedIndex: () => found }
  const missing = (code: 'UNKNOWN_INDEX' | 'INDEX_CHANGED') => ({
    openedIndex: () => {
      throw new WarpdexError(code, 'no index has the handle 7')
    },
  })
  for (const op of DATA_OPS) {
    const right = ['insert', 'delete', 'write', 'load', 'deleteRange'].includes(op) ? 'write' : 'read'
    const other = right === 'read' ? 'write' : 'read'
    const grant = (index: string, allow: typeof right) => ({
      who: 'the token "x"',
      rights: new Rights([{ index, allow: [allow] }]),
    })
    t.equal(authoriseData(grant('a*', right), asked(op), engine), found)
    t.equal(authoriseData(grant('*', right), asked(op), engine), found)
    t.throws(() => authoriseData(grant('*', right), asked(op), missing('INDEX_CHANGED')), {
      code: 'INDEX_CHANGED',
    })
    const told = [
      () => authoriseData(grant('b*', right), asked(op), engine),
      () => authoriseData(grant('a*', right), asked(op), missing('UNKNOWN_INDEX')),
      () => authoriseData(grant('a*', right), asked(op), missing('INDEX_CHANGED')),
    ].map((ask) => {
      try {
        return String(ask())
      } catch (error) {
        t.match(error, { code: 'UNAUTHORISED', message: new RegExp(`right "${right}".*"x" lacks it`) })
        return String(error)
      }
    })
    t.equal(new Set(told).size, 1, `${op}: the same words`)
    t.throws(
      () => authoriseData(grant('a*', other), asked(op), engine),
      { code: 'UNAUTHORISED', message: new RegExp(`right "${right}" on "ab"; the token "x" lacks it`) },
      'who may open it knows its name',
    )
  }
})
