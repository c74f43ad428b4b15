import { getSystemErrorMap } from 'node:util'

/** Why the system refused something, as `no such file or directory`. */
export function systemReason(error: unknown): string {
  const { errno, message = String(error) } = error as Partial<NodeJS.ErrnoException>
  return (errno === undefined ? undefined : getSystemErrorMap().get(errno)?.[1]) ?? message
}
