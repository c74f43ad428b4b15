import { Presets, SingleBar } from 'cli-progress'
import { bytesText } from './output.js'

/** Shows how far long work is. */
export interface Progress {
  /** @param note a few words beside the bar */
  update(done: number, note: string): void
  stop(): void
}

const SILENT: Progress = { update: () => {}, stop: () => {} }

/**
 * A bar on the terminal; nothing where standard error is none, so that logs stay clean.
 * @param total what `done` reaches in the end; undefined where that is not known, and only the note is shown
 */
export function showProgress(title: string, total: number | undefined): Progress {
  if (!process.stderr.isTTY) return SILENT
  const format =
    total === undefined ? `${title}  {note}` : `${title} {bar} {percentage} %  {note}, {eta_formatted} left`
  const bar = new SingleBar(
    { format, stream: process.stderr, clearOnComplete: true, fps: 5 },
    Presets.shades_classic,
  )
  bar.start(total ?? 0, 0, { note: '' })
  return { update: (done, note) => bar.update(done, { note }), stop: () => bar.stop() }
}

/** Shows how many bytes are done; the bar begins when their number is known. */
export function bytesProgress(title: string): {
  readonly update: (progress: { readonly done: number; readonly total: number }) => void
  readonly stop: () => void
} {
  let bar: Progress | undefined
  let most = 0
  return {
    update: ({ done, total }) => {
      if (total > most) bar?.stop()
      if (bar === undefined || total > most) bar = showProgress(title, total)
      most = Math.max(most, total)
      bar.update(done, `${bytesText(done)} of ${bytesText(total)}`)
    },
    stop: () => bar?.stop(),
  }
}
