import type { MessagePort, TransferListItem } from 'node:worker_threads'

/** Where messages go: a thread's port, or a worker. */
type Port = Pick<MessagePort, 'postMessage'>

/** Sends messages to another thread. Those of one turn go together: a thread is woken for each. */
export class Mailbox<Message> {
  readonly #port: Port
  #messages: Message[] = []
  #transfer: ArrayBuffer[] = []

  constructor(port: Port) {
    this.#port = port
  }

  /** @param memory is the other thread's from now on */
  send(message: Message, memory?: ArrayBuffer): void {
    if (this.#messages.length === 0) queueMicrotask(() => this.#post())
    this.#messages.push(message)
    if (memory !== undefined) this.#transfer.push(memory)
  }

  #post(): void {
    const transfer: readonly TransferListItem[] = this.#transfer
    this.#port.postMessage(this.#messages, transfer)
    this.#messages = []
    this.#transfer = []
  }
}
