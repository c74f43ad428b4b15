import t from 'tap'
import { WarpdexError } from '../../../../protocol/errors.js'
import type { GetRequest } from '../../../../protocol/messages.js'
import { Rights } from '../../../../src/server/access/rights.js'
import { type Answered, CancelSign } from '../../../../src/server/gate/engine-gate.js'
import { GetGroups } from '../../../../src/server/threads/get-groups.js'
import { Random, seedOfRun } from '../../../random.js'

/** Payload of a key, where it has one. */
const payloadOf = (key: number) => (key % 3 === 0 ? undefined : key * 7)

/** Answers as the engine would, once it is told to. */
class Asked {
  readonly requests: GetRequest[] = []
  readonly #answers: (() => void)[] = []
  released = 0

  readonly ask = (request: unknown): Promise<Answered> => {
    this.requests.push(request as GetRequest)
    return new Promise((resolve, reject) => {
      this.#answers.push(() => this.#answer(request as GetRequest, resolve, reject))
    })
  }

  /** Most keys of a request that is answered. */
  most = Number.POSITIVE_INFINITY

  #answer({ keys }: GetRequest, resolve: (answer: Answered) => void, reject: (error: Error) => void): void {
    const numbers = new Uint32Array(keys.bytes.slice().buffer)
    if (numbers.length > this.most) {
      reject(new WarpdexError('TOO_LARGE', 'more than fits'))
      return
    }
    const found = new Uint8Array(Math.ceil(numbers.length / 8))
    const payloads = Uint32Array.from(numbers, (key, i) => {
      if (payloadOf(key) !== undefined) found[i >> 3]! |= 1 << (i & 7)
      return payloadOf(key) ?? 0
    })
    resolve({
      fields: {},
      sections: {
        found: { type: 'u8', bytes: found },
        payloads: { type: 'bytes', bytes: new Uint8Array(payloads.buffer) },
      },
      release: () => {
        this.released++
      },
    })
  }

  async answerAll(): Promise<void> {
    while (this.#answers.length > 0) {
      this.#answers.shift()?.()
      await turn()
    }
  }
}

const turn = () => new Promise<void>((resolve) => setImmediate(resolve))

function question(keys: readonly number[], index = 'n', more: Partial<GetRequest> = {}) {
  const bytes = new Uint8Array(Uint32Array.from(keys).buffer)
  const request = { id: 1, op: 'get', index, all: false, keys: { type: 'u32', bytes }, ...more } as GetRequest
  return {
    request,
    client: undefined,
    rights: Rights.all,
    sign: new CancelSign(),
    connection: 1,
    ownsMemory: false,
  }
}

function values({ sections }: Answered, count: number): (number | undefined)[] {
  const found = sections!.found!.bytes
  const payloads = new Uint32Array(sections!.payloads!.bytes.slice().buffer)
  return Array.from({ length: count }, (_, i) =>
    ((found[i >> 3]! >> (i & 7)) & 1) === 1 ? payloads[i] : undefined,
  )
}

t.test('every get has its own answer, whatever goes together', async (t) => {
  const seed = seedOfRun()
  t.comment(`TEST_SEED=${seed}`)
  const random = new Random(seed)
  const asked = new Asked()
  const groups = new GetGroups(asked.ask)
  const all: { keys: number[]; answer: Promise<Answered> }[] = []
  for (let round = 0; round < 40; round++) {
    for (let i = random.below(12); i > 0; i--) {
      const keys = Array.from({ length: random.below(20) }, () => random.below(1000))
      all.push({ keys, answer: groups.offer(question(keys, random.pick(['n', 'm'])))! })
    }
    if (random.chance(0.5)) await turn()
    if (random.chance(0.3)) await asked.answerAll()
  }
  await turn()
  await asked.answerAll()
  for (const { keys, answer } of all) {
    const { release, ...got } = await answer
    t.strictSame(values(got, keys.length), keys.map(payloadOf))
    release?.()
  }
  t.ok(asked.requests.length < all.length / 2, `${asked.requests.length} for ${all.length}`)
  t.equal(asked.released, asked.requests.length, 'memory is given back once all parts have left')
})

t.test('a lone get goes at once, and no more than two requests of an index are under way', async (t) => {
  const asked = new Asked()
  const groups = new GetGroups(asked.ask)
  const answers = [groups.offer(question([1]))!]
  await turn()
  t.equal(asked.requests.length, 1)
  for (let i = 0; i < 50; i++) {
    answers.push(groups.offer(question([i]))!)
    await turn()
  }
  t.equal(asked.requests.length, 2)
  await asked.answerAll()
  t.equal(asked.requests.length, 3, 'what waited went together')
  await Promise.all(answers)
})

t.test('gets that mean different generations of an index do not go together', async (t) => {
  const asked = new Asked()
  const groups = new GetGroups(asked.ask)
  const meant = [1, 2, undefined, 2, 1]
  const answers = meant.map((generation, key) => groups.offer(question([key], 'n', { generation }))!)
  groups.flush('n')
  t.strictSame(
    asked.requests.map(({ generation, keys }) => [generation, ...new Uint32Array(keys.bytes.slice().buffer)]),
    [
      [1, 0, 4],
      [2, 1, 3],
      [undefined, 2],
    ],
  )
  await asked.answerAll()
  await Promise.all(answers)
})

t.test('what waits goes before a write of its index', async (t) => {
  const asked = new Asked()
  const groups = new GetGroups(asked.ask)
  const answers = [1, 2, 3, 4].map((key) => groups.offer(question([key]))!)
  const other = groups.offer(question([9], 'other'))!
  groups.flush('n')
  t.strictSame(
    asked.requests.map(({ index }) => index),
    ['n'],
    'before the call returns',
  )
  await turn()
  await asked.answerAll()
  await Promise.all([...answers, other])
})

t.test('only small gets of keys of fixed width are taken', async (t) => {
  const groups = new GetGroups(new Asked().ask)
  const bytes = new Uint8Array(8)
  t.equal(groups.offer(question([1], 'n', { all: true })), undefined)
  t.equal(groups.offer(question([1], 'n', { traversal: { strategy: 'sequential' } })), undefined)
  t.equal(groups.offer(question([1], 'n', { keys: { type: 'bytes', bytes } })), undefined)
  t.equal(groups.offer(question(Array.from({ length: 16_385 }, (_, i) => i))), undefined)
  t.not(groups.offer(question(Array.from({ length: 16_384 }, (_, i) => i))), undefined)
})

t.test('an error is that of all, but what is too large together is asked alone', async (t) => {
  const asked = new Asked()
  const groups = new GetGroups(asked.ask)
  asked.most = 2
  const answers = [[1, 2], [4], [5, 7, 8]].map((keys) => groups.offer(question(keys))!)
  const settled = Promise.allSettled(answers)
  await turn()
  await asked.answerAll()
  const [first, second, third] = await settled
  t.strictSame(values((first as PromiseFulfilledResult<Answered>).value, 2), [7, 14])
  t.strictSame(values((second as PromiseFulfilledResult<Answered>).value, 1), [28])
  t.match(third, { status: 'rejected', reason: { code: 'TOO_LARGE' } })
})

t.test('whoever does not wait any more is not asked for', async (t) => {
  const asked = new Asked()
  const groups = new GetGroups(asked.ask)
  const gone = question([1])
  const answers = [groups.offer(gone)!, groups.offer(question([2]))!]
  gone.sign.cancel()
  t.rejects(answers[0]!, { code: 'CANCELLED' })
  await turn()
  await asked.answerAll()
  t.strictSame(values(await answers[1]!, 1), [14])
  t.equal(asked.requests[0]!.keys.bytes.byteLength, 4)
})
