import type { Socket } from './socket.js'

const LOOK_MS = 500
/** Of silence, after which a server is asked whether it is there. */
const ASK_AFTER_MS = 2000

interface SilenceOptions {
  readonly socket: Socket
  /** Milliseconds that the server has for its answer. */
  readonly patience: number
  /** Whether anything is to come. */
  readonly isDue: () => boolean
  readonly ask: () => void
  readonly onGone: () => void
}

/**
 * Notices that a server has vanished, of which TCP tells nothing. Time is counted in looks, so that a busy thread does not shorten it.
 * @returns ends it
 */
export function watchSilence({ socket, patience, isDue, ask, onGone }: SilenceOptions): () => void {
  const most = ASK_AFTER_MS + Math.max(patience, socket.leastPatience)
  let progress = 0
  let silent = 0
  const timer = setInterval(() => {
    silent = socket.progress > progress || !isDue() ? 0 : silent + LOOK_MS
    // What is sent below leaves, too, be it heard or not.
    progress = socket.progress
    if (silent === ASK_AFTER_MS) ask()
    if (silent >= most) onGone()
  }, LOOK_MS)
  return () => clearInterval(timer)
}
