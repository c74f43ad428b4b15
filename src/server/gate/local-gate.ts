import type { Engine } from '../../engine/engine.js'
import { runRequest } from '../operations.js'
import type { ReplyMemory } from '../reply-memory.js'
import type { Answered, EngineGate, Question } from './engine-gate.js'

/** The engine in this thread. */
export class LocalGate implements EngineGate {
  readonly #engine: Engine
  readonly #memory: ReplyMemory
  #underWay = 0

  constructor(engine: Engine, memory: ReplyMemory) {
    this.#engine = engine
    this.#memory = memory
  }

  get adapter(): EngineGate['adapter'] {
    const { name, software } = this.#engine.adapter
    return { name, software }
  }

  /** Requests that are not answered. */
  get underWay(): number {
    return this.#underWay
  }

  async ask({ request, client, rights, sign, connection }: Question): Promise<Answered> {
    const lent = this.#memory.lend()
    this.#underWay++
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
    } finally {
      this.#underWay--
    }
  }

  left(connection: number): void {
    this.#engine.queries.endAll(connection)
  }
}
