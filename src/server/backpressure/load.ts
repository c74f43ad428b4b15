/** What the connections take at the moment. */
export interface Load {
  /** Requests that are not answered. */
  readonly requests: number
  readonly requestBytes: number
  /** Bytes of replies that have not left. */
  readonly replyBytes: number
  /** Connections that wait for an answer. */
  readonly waitingClients: number
}

/** What several take together. */
export function sumOf(loads: readonly Load[]): Load {
  const sum = (figure: keyof Load) => loads.reduce((total, load) => total + load[figure], 0)
  return {
    requests: sum('requests'),
    requestBytes: sum('requestBytes'),
    replyBytes: sum('replyBytes'),
    waitingClients: sum('waitingClients'),
  }
}
