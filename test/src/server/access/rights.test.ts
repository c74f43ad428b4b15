import t from 'tap'
import type { Request } from '../../../../protocol/messages.js'
import { OPS } from '../../../../protocol/parse-request.js'
import { RIGHTS } from '../../../../protocol/rights.js'
import { authorise, Rights } from '../../../../src/server/access/rights.js'

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
  // That one needs two, see below.
  for (const op of OPS.filter((op) => op !== 'createRelationIndex')) {
    for (const right of RIGHTS) {
      const rights = new Rights([{ index: 'a*', allow: [right] }])
      const asked = { id: 1, op, index: 'ab', relation: 'ab', keyType: 'u32' } as unknown as Request
      try {
        authorise(rights, 'the token "x"', asked)
        needs.set(op, needs.has(op) ? 'any' : right)
      } catch (error) {
        t.match(error, {
          code: 'UNAUTHORISED',
          message: /the right "[a-z]+" on "ab"; the token "x" lacks it/,
        })
      }
    }
    if (needs.get(op) === 'any') continue
    const elsewhere = { id: 1, op, index: 'b', relation: 'b' } as unknown as Request
    const onOthers = new Rights([{ index: 'a*', allow: RIGHTS }])
    t.throws(() => authorise(onOthers, 'x', elsewhere), { code: 'UNAUTHORISED' })
  }
  t.strictSame(Object.fromEntries(needs), {
    hello: 'any',
    cancel: 'any',
    // Each relation that a query names is looked at when it is carried out.
    query: 'any',
    queryNext: 'any',
    queryEnd: 'any',
    listIndexes: 'any',
    stats: 'any',
    createIndex: 'create',
    dropIndex: 'drop',
    snapshot: 'snapshot',
    backup: 'backup',
    // A new one needs the right to snapshots of all indexes.
    calibrate: 'any',
    get: 'read',
    explain: 'read',
    count: 'read',
    scan: 'read',
    getNext: 'read',
    insert: 'write',
    delete: 'write',
    write: 'write',
    load: 'write',
    createRelation: 'create',
    dropRelation: 'drop',
    listRelations: 'any',
    append: 'write',
    readRelation: 'read',
  })
  const over = { id: 1, op: 'createRelationIndex', index: 'a', relation: 'b' } as unknown as Request
  const creator = { index: 'a', allow: ['create'] } as const
  authorise(new Rights([creator, { index: 'b', allow: ['read'] }]), 'x', over)
  t.throws(() => authorise(new Rights([creator]), 'x', over), { message: /"read" on "b"/ })
  t.throws(() => authorise(new Rights([{ index: '*', allow: ['read'] }]), 'x', over), {
    message: /"create" on "a"/,
  })
  const kept = {
    id: 1,
    op: 'query',
    query: {},
    lists: [],
    explain: false,
    keep: { name: 'a', seconds: 1 },
  } as const
  authorise(new Rights([creator]), 'x', kept)
  t.throws(() => authorise(new Rights([{ index: 'a', allow: ['read'] }]), 'x', kept), {
    message: /query needs the right "create" on "a"/,
  })
})

t.test('requests about all indexes', async (t) => {
  const one = new Rights([{ index: 'a', allow: ['snapshot'] }])
  authorise(one, 'x', { id: 1, op: 'snapshot' })
  authorise(Rights.none, 'x', { id: 1, op: 'stats' })
  authorise(Rights.none, 'x', { id: 1, op: 'listIndexes' })
  t.throws(() => authorise(on('*'), 'x', { id: 1, op: 'snapshot' }), {
    code: 'UNAUTHORISED',
    message: /x lacks the right "snapshot" on any index/,
  })
  const backup = { id: 1, op: 'backup' } as const
  authorise(Rights.all, 'x', backup)
  t.throws(() => authorise(new Rights([{ index: 'a', allow: ['backup'] }]), 'x', backup), {
    code: 'UNAUTHORISED',
    message: /x lacks the right "backup" on all indexes/,
  })
  authorise(Rights.none, 'x', { id: 1, op: 'calibrate', again: false })
  const again = { id: 1, op: 'calibrate', again: true } as const
  authorise(new Rights([{ index: '*', allow: ['snapshot'] }]), 'x', again)
  t.throws(() => authorise(one, 'x', again), {
    code: 'UNAUTHORISED',
    message: /x lacks the right "snapshot" on all indexes/,
  })
  t.ok(Rights.all.mayEverywhere('drop'))
  t.notOk(one.mayEverywhere('snapshot'))
  t.ok(on('*').mayEverywhere('stats'), 'a right to read is one to figures')
})
