import {
  accessSync,
  constants,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { homedir, tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { brotliDecompressSync } from 'node:zlib'
import { WarpdexError } from '../../protocol/errors.js'
import { installCommand } from '../../protocol/optional-packages.js'

const require = createRequire(import.meta.url)
const PACKAGE = '@sparticuz/chromium'

/** Where the software adapter's driver description and, for systems without one, a Vulkan loader lie. */
export interface SoftwareVulkan {
  readonly driverDescription: string
  readonly loader: string
}

/**
 * Unpacks SwiftShader, a Vulkan driver for CPUs, out of the npm package that carries it: once for each version of the
 * package, into this user's cache folder, or into a fresh temporary folder where there is no writable home.
 * @throws WarpdexError `NO_ADAPTER` when the package or this platform's build of it is missing.
 */
export async function unpackSoftwareVulkan(): Promise<SoftwareVulkan> {
  const root = packageRoot()
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }
  const parent = cacheFolder()
  const folder = join(parent, `swiftshader-${version}`)
  if (!existsSync(folder)) {
    // It unpacks itself by this one, so that it is installed with it.
    const { extract } = createRequire(join(root, 'package.json'))('tar-fs') as typeof import('tar-fs')
    const aside = mkdtempSync(join(parent, 'unpacking-'))
    const archive = brotliDecompressSync(readFileSync(join(root, 'bin', 'swiftshader.tar.br')))
    await pipeline(Readable.from([archive]), extract(aside))
    try {
      renameSync(aside, folder)
    } catch (cause) {
      rmSync(aside, { recursive: true })
      // Another process may have been first, which is as good.
      if (!existsSync(folder)) throw cause
    }
  }
  return {
    driverDescription: join(folder, 'vk_swiftshader_icd.json'),
    loader: join(folder, 'libvulkan.so.1'),
  }
}

function cacheFolder(): string {
  const folder = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'warpdex')
  try {
    mkdirSync(folder, { recursive: true })
    accessSync(folder, constants.W_OK)
    return folder
  } catch {
    return mkdtempSync(join(tmpdir(), 'warpdex-'))
  }
}

/** The package's `exports` forbid resolving its data files, so its main file is resolved and the root is found upwards. */
function packageRoot(): string {
  if (process.platform !== 'linux' || process.arch !== 'x64') {
    throw new WarpdexError(
      'NO_ADAPTER',
      `no GPU was found, and the software adapter is built for Linux x64 only (this is ${process.platform} ${process.arch}); install a Vulkan, Metal or Direct3D 12 driver`,
    )
  }
  let folder: string
  try {
    folder = dirname(require.resolve(PACKAGE))
  } catch (cause) {
    throw new WarpdexError(
      'NO_ADAPTER',
      `no GPU was found, and the software adapter is missing; install a Vulkan driver, or run: ${installCommand(PACKAGE)}`,
      { cause },
    )
  }
  while (!existsSync(join(folder, 'bin', 'swiftshader.tar.br'))) {
    const parent = dirname(folder)
    if (parent === folder) {
      throw new WarpdexError(
        'NO_ADAPTER',
        `${PACKAGE} carries no software adapter; reinstall it: ${installCommand(PACKAGE)}`,
      )
    }
    folder = parent
  }
  return folder
}
