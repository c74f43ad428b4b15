import type { Engine } from '../../engine/engine.js'
import { runRequest } from '../operations.js'
import type { ReplyMemory } from '../reply-memory.js'
import type { Answered, EngineGate, Question } from './engine-gate.js'

/** The engine in this thread. */
export class LocalGate implements EngineGate {
  readonly #engine: Engine
  readonly #memory: ReplyMemory

  constructor(engine: Engine, memory: ReplyMemory) {
    this.#engine = engine
    this.#memory = memory
  }

  get adapter(): EngineGate['adapter'] {
    const { name, software } = this.#engine.adapter
    return { name, software }
  }

  async ask({ request, client, rights, sign, connection }: Question): Promise<Answered> {
    const lent = this.#memory.lend()
    const cancellation = {
      get cancelled() {
        return sign.cancelled
      },
      memory: lent,
      owner: connection,
    }
    try {
      const reply = await runRequest(this.#engine, request, { client, rights, cancellation })
      return { ...reply, release: () => lent.release() }
    } catch (error) {
      lent.release()
      throw error
    }
  }

  left(connection: number): void {
    this.#engine.queries.endAll(connection)
  }
}
