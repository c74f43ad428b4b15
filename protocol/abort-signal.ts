/** What of an `AbortSignal` is used: programs compile without the types of Node or browsers, one of which declares it. */
export interface AbortSignalLike {
  readonly aborted: boolean
  addEventListener(type: 'abort', listener: () => void): void
  removeEventListener(type: 'abort', listener: () => void): void
}
