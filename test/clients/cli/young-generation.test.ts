import { Worker } from 'node:worker_threads'
import t from 'tap'
import {
  keepingYoungGenerationSmall,
  keepYoungGenerationSmall,
  youngBytes,
} from '../../../clients/cli/young-generation.js'

/** Much that outlives a collection or two. */
function churn(): void {
  const alive: unknown[] = []
  for (let i = 0; i < 2_000_000; i++) alive[i % 100_000] = { number: i, list: [i] }
}

t.test('the young generation grows no further, whatever outlives its collections', async (t) => {
  keepYoungGenerationSmall()
  const before = youngBytes()
  churn()
  t.ok(youngBytes() <= Math.max(before, 2 ** 21), 'both halves of the first size')
  const thread = new Promise<string>((resolve, reject) => {
    const worker = new Worker('0', { eval: true, execArgv: [], env: {} })
    worker.on('exit', () => resolve('ended'))
    worker.on('error', reject)
  })
  t.equal(await keepingYoungGenerationSmall(thread), 'ended')
  const kept = youngBytes()
  t.ok(kept >= 2 ** 22, `${kept} bytes`)
  churn()
  t.equal(youngBytes(), kept, 'nor after a thread was there')
})
