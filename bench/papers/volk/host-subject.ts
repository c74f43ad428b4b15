import type { KeyBlob } from '../../keys.js'
import { HostTree } from './host-tree.js'
import type { Loaded, Run, Subject } from './subject.js'

/** Lookups that let the compiler of the host's language settle. */
const WARM_UP = 20_000

/** The paper's sequential traversal on a CPU: plain TypeScript, one thread. */
export class HostSubject implements Subject {
  readonly name = 'sequential, CPU'

  async load(keys: KeyBlob): Promise<Loaded> {
    return new LoadedHost(new HostTree(keys))
  }
}

class LoadedHost implements Loaded {
  readonly #tree: HostTree

  constructor(tree: HostTree) {
    this.#tree = tree
  }

  get bytes(): number {
    return this.#tree.bytes
  }

  async answers(queries: KeyBlob): Promise<Uint32Array> {
    const count = queries.offsets.length - 1
    const answers = new Uint32Array(count)
    this.#tree.get(queries, 0, count, answers)
    return answers
  }

  timing(queries: KeyBlob, count: number): Run<number> {
    const total = queries.offsets.length - 1
    const answers = new Uint32Array(count)
    const warmUp = Math.min(count, WARM_UP)
    for (let done = 0; done < WARM_UP; done += warmUp) this.#tree.get(queries, 0, warmUp, answers)
    return {
      clock: 'host',
      once: (repeat) => {
        const first = (Math.max(0, repeat) * count) % total
        const start = performance.now()
        this.#tree.get(queries, first, first + count, answers)
        return (performance.now() - start) * 1e3
      },
      release() {},
    }
  }

  destroy(): void {}
}
