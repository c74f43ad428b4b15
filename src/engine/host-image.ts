import type { StructureImage } from '../../gpu/index-structure.js'

/** A structure's image in host memory. */
export class HostImage {
  readonly meta: StructureImage['meta']
  readonly bytes: number
  readonly #parts: ReadonlyMap<string, readonly Uint8Array[]>

  private constructor(meta: StructureImage['meta'], parts: ReadonlyMap<string, readonly Uint8Array[]>) {
    this.meta = meta
    this.#parts = parts
    this.bytes = [...parts.values()].reduce((sum, chunks) => sum + bytesOf(chunks), 0)
  }

  /** Reads an image as a whole. */
  static async of({ meta, parts, release }: StructureImage): Promise<HostImage> {
    try {
      const read = new Map<string, Uint8Array[]>()
      for (const { name, chunks } of parts) {
        const all: Uint8Array[] = []
        for await (const chunk of chunks) all.push(chunk.slice())
        read.set(name, all)
      }
      return new HostImage(meta, read)
    } finally {
      release()
    }
  }

  async *readPart(name: string): AsyncGenerator<Uint8Array> {
    yield* this.#parts.get(name) ?? []
  }

  /** The image as the structure gave it. */
  read(): StructureImage {
    const parts = [...this.#parts].map(([name, chunks]) => {
      return { name, bytes: bytesOf(chunks), chunks: this.readPart(name) }
    })
    return { meta: this.meta, parts, release: () => {} }
  }
}

function bytesOf(chunks: readonly Uint8Array[]): number {
  return chunks.reduce((sum, { byteLength }) => sum + byteLength, 0)
}
