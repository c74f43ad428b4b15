import { readdirSync, readlinkSync } from 'node:fs'
import { basename, join } from 'node:path'
import { textOf } from './text-of.js'

/** A GPU of this machine, as Linux knows it. */
export interface GpuInUse {
  /** Its file, as `/dev/nvidia0`. */
  readonly file: string
  /** Its address on the PCI bus, where that is told. */
  readonly address: string | undefined
  /** Other processes of this user that use it. */
  readonly sharedWith: readonly number[]
}

const GPU_FILE = /^\/dev\/(nvidia\d+|dri\/renderD\d+)$/

/**
 * The GPU that this process computes with. Graphics interfaces do not tell which of several of one name it is, but a process has more files open of
 * the one that it uses than of those that it only found.
 * @param proc a folder like Linux' /proc
 */
export function gpuInUse(proc = '/proc'): GpuInUse | undefined {
  const file = mostOpenGpu(join(proc, 'self', 'fd'))
  if (file === undefined) return undefined
  const others = namesIn(proc).filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
  const sharing = others.filter((pid) => mostOpenGpu(join(proc, pid, 'fd')) === file)
  return { file, address: addressOf(file, proc), sharedWith: sharing.map(Number) }
}

function mostOpenGpu(folder: string): string | undefined {
  const counts = new Map<string, number>()
  for (const name of namesIn(folder)) {
    const file = targetOf(join(folder, name))
    if (GPU_FILE.test(file)) counts.set(file, (counts.get(file) ?? 0) + 1)
  }
  const [most] = [...counts].sort(([, one], [, other]) => other - one)
  return most?.[0]
}

function addressOf(file: string, proc: string): string | undefined {
  if (!file.startsWith('/dev/nvidia'))
    return basename(targetOf(`/sys/class/drm/${basename(file)}/device`)) || undefined
  const folder = join(proc, 'driver', 'nvidia', 'gpus')
  const minor = new RegExp(`^Device Minor:\\s+${file.slice('/dev/nvidia'.length)}$`, 'm')
  return namesIn(folder).find((address) => minor.test(textOf(join(folder, address, 'information'))))
}

/** None where the folder is missing, or of another user. */
function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}

function targetOf(link: string): string {
  try {
    return readlinkSync(link)
  } catch {
    return ''
  }
}
