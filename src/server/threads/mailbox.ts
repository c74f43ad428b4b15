import type { MessagePort } from 'node:worker_threads'

/** Where messages go: a thread's port, or a worker. */
type Port = Pick<MessagePort, 'postMessage'>

/** Bytes as they go to another thread: with a view all of the memory that it is part of would go. */
export function ownMemory(bytes: Uint8Array): Uint8Array {
  return bytes.byteLength === bytes.buffer.byteLength ? bytes : bytes.slice()
}

/** Sends messages to another thread. Those of one turn go together: a thread is woken for each. */
export class Mailbox<Message extends object> {
  readonly #port: Port
  readonly #onUnsent: (message: Message, error: unknown) => void
  #messages: Message[] = []
  #memory = new Map<Message, ArrayBuffer>()

  /** @param onUnsent told of a message that no copy can be made of; the others go */
  constructor(port: Port, onUnsent: (message: Message, error: unknown) => void) {
    this.#port = port
    this.#onUnsent = onUnsent
  }

  /** @param memory is the other thread's from now on */
  send(message: Message, memory?: ArrayBuffer): void {
    if (this.#messages.length === 0) queueMicrotask(() => this.#post())
    this.#messages.push(message)
    if (memory !== undefined) this.#memory.set(message, memory)
  }

  #post(): void {
    const messages = this.#messages
    const memory = this.#memory
    this.#messages = []
    if (memory.size > 0) this.#memory = new Map()
    try {
      this.#port.postMessage(messages, [...memory.values()])
    } catch {
      // Nothing of them has gone.
      for (const message of messages) this.#postAlone(message, memory.get(message))
    }
  }

  #postAlone(message: Message, memory: ArrayBuffer | undefined): void {
    try {
      this.#port.postMessage([message], memory === undefined ? [] : [memory])
    } catch (error) {
      this.#onUnsent(message, error)
    }
  }
}
