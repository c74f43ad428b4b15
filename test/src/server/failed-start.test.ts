import { createRequire, syncBuiltinESMExports } from 'node:module'
import type { Worker } from 'node:worker_threads'
import t from 'tap'
import { start } from './start.js'

const threads: { Worker: typeof Worker } = createRequire(import.meta.url)('node:worker_threads')

t.test('a start that finds no room for a thread gives everything back', async (t) => {
  const { Worker: Plain } = threads
  const started: Worker[] = []
  class Scarce extends Plain {
    constructor(...given: ConstructorParameters<typeof Plain>) {
      if (started.length === 1) throw new Error('no more threads')
      super(...given)
      started.push(this)
    }
  }
  const provide = (worker: typeof Worker) => {
    threads.Worker = worker
    syncBuiltinESMExports()
  }
  provide(Scarce)
  t.teardown(() => provide(Plain))
  const directory = t.testdir()
  await t.rejects(start(t, { directory, ioThreads: 1 }), { message: 'no more threads' })
  t.same(
    started.map(({ threadId }) => threadId),
    [-1],
    'the one that listens is over',
  )
  provide(Plain)
  const server = await start(t, { directory })
  t.same(server.engine.list(), [])
})
