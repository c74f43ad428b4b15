import { readdirSync } from 'node:fs'
import { badRequest } from '../../../protocol/errors.js'

/** The GPUs that NVIDIA's driver shows, by their names below /dev. */
export function nvidiaGpus(): readonly string[] {
  return readdirSync('/dev').filter((name) => /^nvidia\d+$/.test(name))
}

/**
 * What a command begins with so that its process sees a single GPU. Vulkan offers no choice between two of one name, so the others are hidden, in a mount
 * namespace of its own, which Linux may keep users from making.
 */
export function seeingOnly(gpu: string, gpus: readonly string[]): readonly string[] {
  const hiding = gpus
    .filter((other) => other !== gpu)
    .map((other) => `mount --bind /dev/null /dev/${other} && `)
  const asRoot = process.getuid?.() === 0 ? [] : ['--map-root-user']
  return ['unshare', ...asRoot, '--mount', 'sh', '-c', `${hiding.join('')}exec "$@"`, 'sh']
}

/**
 * What the command of each node begins with.
 * @param gpus the setting `--gpus`
 * @throws WarpdexError `BAD_REQUEST` where there are fewer than two GPUs
 */
export function prefixesFor(gpus: string): readonly (readonly string[])[] {
  if (gpus !== 'all') throw badRequest(`--gpus is ${JSON.stringify(gpus)}; it can only be all`)
  const found = process.platform === 'linux' ? nvidiaGpus() : []
  if (found.length < 2)
    throw badRequest(`--gpus all needs Linux and several GPUs of NVIDIA; there are ${found.length}`)
  return found.map((gpu) => seeingOnly(gpu, found))
}
