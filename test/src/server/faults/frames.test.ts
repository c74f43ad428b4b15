import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { Random, seedOfRun } from '../../../random.js'
import { RawClient } from '../raw-client.js'
import { start } from '../start.js'
import { Handles, INDEXES, mutated, outcomeOf } from './mutator.js'
import { witness } from './witness.js'

const FRAMES = 100_000
const CONNECTIONS = 8
/** Frames under way on a connection: more than the server reads at a time. */
const WINDOW = 300

const TOKENS = {
  hostile: 'hostile-hostile-hostile',
  witness: 'witness-witness-witness',
}

/** Sends broken frames, and counts what comes back by its outcome; each of them is answered once. */
async function attack(t: Test, url: string, random: Random, frames: number): Promise<Map<string, number>> {
  const handles = new Handles()
  const options = { headers: { authorization: `Bearer ${TOKENS.hostile}` } }
  const { socket } = await RawClient.connect(t, url, options)
  socket.removeAllListeners('message')
  const outcomes = new Map<string, number>()
  let sent = 0
  let answered = 0
  const done = new Promise<void>((resolve, reject) => {
    socket.on('close', (code) => reject(new Error(`closed with ${code} after ${answered} answers`)))
    socket.on('message', (data: Buffer) => {
      handles.note(data)
      const outcome = outcomeOf(data) ?? 'nonsense'
      outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1)
      answered++
      if (answered === frames) resolve()
      else if (sent < frames) socket.send(mutated(random, handles), { binary: true }, () => {})
      sent++
    })
  })
  while (sent < Math.min(WINDOW, frames)) {
    socket.send(mutated(random, handles), { binary: true })
    sent++
  }
  await done
  socket.removeAllListeners('close')
  return outcomes
}

t.test('a hundred thousand broken frames are answered each, and nobody else notices', async (t) => {
  const seed = seedOfRun()
  t.comment(`TEST_SEED=${seed}`)
  const folder = t.testdir()
  const tokens = join(folder, 'tokens.json')
  const allow = ['read', 'write', 'drop', 'stats', 'snapshot']
  const rules = (index: string) => [{ index, allow: [...allow, 'create'] }]
  const list = [
    { name: 'witness', token: TOKENS.witness, rights: rules('witness') },
    { name: 'owner', token: 'owner-owner-owner', rights: rules('x-*') },
    // Names that bits were flipped in would else become thousands of indexes.
    { name: 'hostile', token: TOKENS.hostile, rights: [{ index: 'x-*', allow }, ...rules('x-numbers')] },
  ]
  writeFileSync(tokens, JSON.stringify({ tokens: list }), { mode: 0o600 })
  const warnings: string[] = []
  const { url } = await start(
    t,
    { tokens, directory: join(folder, 'data') },
    { onWarning: (message) => warnings.push(message) },
  )
  const owner = await RawClient.connect(t, url, { headers: { authorization: 'Bearer owner-owner-owner' } })
  for (const [i, index] of INDEXES.entries()) {
    t.match((await owner.ask({ id: i, op: 'createIndex', ...index })).header, { ok: true })
  }
  const endOfWatch = await witness(t, url, new Random(seed), { token: TOKENS.witness })
  const attacks = Array.from({ length: CONNECTIONS }, (_, i) =>
    attack(t, url, new Random(seed + 1 + i), FRAMES / CONNECTIONS),
  )
  const outcomes = new Map<string, number>()
  for (const one of await Promise.all(attacks)) {
    for (const [outcome, count] of one) outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + count)
  }
  t.ok((await endOfWatch()) > 0)
  t.comment([...outcomes].map(([outcome, count]) => `${outcome} ${count}`).join(', '))
  t.equal(outcomes.get('INTERNAL'), undefined, 'nothing is a mistake of the server')
  t.equal(outcomes.get('nonsense'), undefined)
  t.ok(
    outcomes.get('ok')! > 1000 && outcomes.get('BAD_REQUEST')! > 10_000,
    'some frames were sound, most were not',
  )
  t.strictSame(warnings, [])
})
