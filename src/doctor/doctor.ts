import { createRequire } from 'node:module'
import { createServer } from 'node:net'
import { freemem, release, totalmem } from 'node:os'
import { Device } from '../../gpu/device/device.js'
import { toWarpdexError } from '../../protocol/errors.js'
import { hostAndPort } from '../server/binding.js'
import { diskLines } from './disk.js'
import { distributionOf, driverAdvice, installedGpus } from './drivers.js'
import { fail, type Line, ok, warn } from './finding.js'
import { gpuInUse } from './gpu-in-use.js'
import { textOf } from './text-of.js'

export interface DoctorOptions {
  readonly directory: string
  readonly host: string
  readonly port: number
}

const GIB = 2 ** 30
const LEAST_NODE = [20, 15] as const
const LITTLE_MEMORY = 2 * GIB
/** Sockets and files of a server with a thousand clients. */
const FEW_FILES = 2048
/** What kernels use where it is there. */
const FEATURES = ['subgroups', 'shader-f16', 'timestamp-query'] as const

/** Looks at everything that a server needs of the machine that it is to run on. */
export async function examine({ directory, host, port }: DoctorOptions): Promise<Line[]> {
  return [
    nodeLine(process.versions.node),
    ...(await adapterLines()),
    memoryLine(),
    webAssemblyLine(),
    ...(await diskLines(directory)),
    ...fileLines(),
    await portLine(host, port),
    maskingLine(),
  ]
}

export function nodeLine(version: string): Line {
  const [major, minor] = version.split('.').map(Number)
  const found = `${version} on ${process.platform} ${process.arch}, ${release()}`
  const isOld = major < LEAST_NODE[0] || (major === LEAST_NODE[0] && minor < LEAST_NODE[1])
  return isOld ? fail('Node', found, `install Node ${LEAST_NODE.join('.')} or later`) : ok('Node', found)
}

async function adapterLines(): Promise<Line[]> {
  try {
    const device = await Device.open('auto')
    try {
      return [adapterLine(device), ...gpuLines(), limitsLine(device)]
    } finally {
      device.destroy()
    }
  } catch (error) {
    return [fail('adapter', toWarpdexError(error).message, advice(installedGpus()))]
  }
}

function adapterLine({ facts: { name, software } }: Device): Line {
  if (!software) return ok('adapter', `${name}, a GPU`)
  const gpus = installedGpus()
  const seen =
    gpus.length === 0
      ? 'no GPU is seen'
      : `a GPU of ${gpus.join(' and ')} is there, but not its Vulkan driver`
  return warn('adapter', `${name}: a CPU does the work of a GPU, which is slow; ${seen}`, advice(gpus))
}

/** Linux tells which GPU it is. */
function gpuLines(): Line[] {
  const gpu = gpuInUse()
  if (gpu === undefined) return []
  const { file, address, sharedWith } = gpu
  const found = `${file}${address === undefined ? '' : `, at ${address} of the PCI bus`}`
  if (sharedWith.length === 0) return [ok('GPU', found)]
  const others = `${sharedWith.length === 1 ? 'process' : 'processes'} ${sharedWith.join(', ')}`
  const remedy =
    'that is right if it is the server; else give each a GPU of its own, by a container or "warpdex cluster dev --gpus all"'
  return [warn('GPU', `${found}, which ${others} ${sharedWith.length === 1 ? 'uses' : 'use'} too`, remedy)]
}

function limitsLine({ facts, gpu }: Device): Line {
  const features = FEATURES.filter((feature) => gpu.features.has(feature))
  const { maxComputeInvocationsPerWorkgroup, maxComputeWorkgroupStorageSize } = gpu.limits
  const found = [
    `binds ${(facts.bindingBytes / GIB).toFixed(2)} GiB`,
    `${maxComputeInvocationsPerWorkgroup} invocations and ${maxComputeWorkgroupStorageSize / 1024} KiB a workgroup`,
    features.length === 0 ? 'no further features' : features.join(', '),
  ]
  return ok('limits', found.join('; '))
}

function advice(gpus: readonly string[]): string {
  const release = process.platform === 'linux' ? textOf('/etc/os-release') : ''
  return driverAdvice(process.platform, distributionOf(release), gpus)
}

function memoryLine(): Line {
  const found = `${(freemem() / GIB).toFixed(1)} of ${(totalmem() / GIB).toFixed(1)} GiB are free`
  if (totalmem() >= LITTLE_MEMORY) return ok('memory', found)
  return warn('memory', found, 'lower --payload-cache-bytes, or take a larger machine')
}

/** Reserves what payloads of kind `bytes` are kept in: address space of several gibibytes, however little is used. */
function webAssemblyLine(): Line {
  try {
    new WebAssembly.Memory({ initial: 1, maximum: 1 })
    return ok('WebAssembly', 'has memory for payloads of kind bytes')
  } catch {
    const found = 'has no memory: payloads of kind bytes are read from the data file each time'
    return warn('WebAssembly', found, 'lift the limit of address space, as by "ulimit -v unlimited"')
  }
}

/** Linux tells a process's limits. */
function fileLines(): Line[] {
  const soft = /^Max open files\s+(\S+)/m.exec(textOf('/proc/self/limits'))?.[1]
  if (soft === undefined) return []
  const found = `${soft} may be open`
  if (soft === 'unlimited' || Number(soft) >= FEW_FILES) return [ok('files', found)]
  return [warn('files', found, `raise the limit, as by "ulimit -n ${FEW_FILES}" or LimitNOFILE= of systemd`)]
}

async function portLine(host: string, port: number): Promise<Line> {
  const where = hostAndPort(host, port)
  const error = await new Promise<NodeJS.ErrnoException | undefined>((resolve) => {
    const server = createServer()
    server.once('error', resolve)
    server.listen(port, host, () => server.close(() => resolve(undefined)))
  })
  if (error === undefined) return ok('port', `${where} is free`)
  if (error.code === 'EADDRINUSE') {
    return warn(
      'port',
      `${where} is in use`,
      'that is right if it is the server; else choose another with --port',
    )
  }
  return fail('port', `${where}: ${error.message}`, 'choose another address or port with --host and --port')
}

/** Without the native module each byte that clients send is unmasked in JavaScript. */
function maskingLine(): Line {
  const require = createRequire(import.meta.url)
  try {
    // Of the two that there are, the one in JavaScript is an ordinary function.
    const { mask }: { mask: unknown } = require('bufferutil')
    const isNative =
      typeof mask === 'function' && /\[native code\]/.test(Function.prototype.toString.call(mask))
    if (isNative) return ok('bufferutil', 'is loaded')
  } catch {}
  return warn(
    'bufferutil',
    'is not loaded: large messages take several times as long',
    'run "npm ci" on this machine',
  )
}
