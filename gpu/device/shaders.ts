import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { CompositeResolver, linkRegistry, type ModuleResolver, RecordResolver } from 'wesl'
import { type Conditions, PERMUTATIONS } from '../permutations.js'
import { divisible } from './divide.js'

export type { Conditions }

/** A module that no file has: its text is made for one kernel, and linked beside the files. */
export interface GeneratedModule {
  /** Path below `gpu/` by which the kernel's modules import it. */
  readonly module: string
  readonly text: string
}

/** A module and how it is to be linked. */
export interface ModuleDescription {
  /** Path of the `.wesl` module below `gpu/`, without its ending, e.g. `primitives/prefix-scan`. */
  readonly module: string
  /** A folder outside `gpu/` that the module's path starts from; modules of both can be imported. */
  readonly folder?: URL | undefined
  readonly conditions?: Conditions | undefined
  /** Nobody keeps what has a generated part but who asks for it. */
  readonly generated?: GeneratedModule | undefined
}

/** A linked module. */
export interface Shader {
  readonly name: string
  /** Tells it from others of other conditions. */
  readonly label: string
  readonly code: string
  /** Whether a part of a dispatch's workgroups can be dispatched by itself; see `divide.ts`. */
  readonly divides: boolean
}

/** Links a module with those that it imports. */
export function linkShader(description: ModuleDescription): Shader {
  const { module, conditions = {} } = description
  const linked = linkRegistry({
    rootModuleName: moduleName(module),
    resolver: resolverOf(description),
    conditions: { ...conditions },
  })
  const label = `${module} ${JSON.stringify(conditions)}`
  return { name: module, label, ...divisible(linked.dest.text) }
}

function resolverOf({ generated, folder, conditions = {} }: ModuleDescription): ModuleResolver {
  const kernels = new Permuted(sourcesBelow(KERNELS), conditions)
  if (generated !== undefined) return new CompositeResolver([recordOf([generated]), kernels])
  return folder === undefined ? kernels : new CompositeResolver([sourcesBelow(folder), kernels])
}

/** Has the file that conditions ask for stand for each module of `PERMUTATIONS`. */
class Permuted implements ModuleResolver {
  readonly #modules: ModuleResolver
  readonly #files: ReadonlyMap<string, string>

  constructor(modules: ModuleResolver, conditions: Conditions) {
    this.#modules = modules
    const files = Object.entries(PERMUTATIONS).map(([module, fileOf]) => {
      const path = `package::${moduleName(module).replaceAll('/', '::')}`
      return [path, `${path}::${fileOf(conditions)}`] as const
    })
    this.#files = new Map(files)
  }

  resolveModule(path: string): ReturnType<ModuleResolver['resolveModule']> {
    return this.#modules.resolveModule(this.#files.get(path) ?? path)
  }
}

/** The folder `gpu/`. */
const KERNELS = new URL('../', import.meta.url)

const sources = new Map<string, RecordResolver>()

/** Every module below a folder, by its path there, parsed once. */
function sourcesBelow(folder: URL): RecordResolver {
  let found = sources.get(folder.href)
  if (found === undefined) {
    const names = readdirSync(fileURLToPath(folder), { recursive: true, encoding: 'utf8' })
    const modules = names
      .filter((name) => name.endsWith('.wesl'))
      .map((module) => ({ module, text: readFileSync(new URL(module, folder), 'utf8') }))
    found = recordOf(modules)
    sources.set(folder.href, found)
  }
  return found
}

function recordOf(modules: readonly GeneratedModule[]): RecordResolver {
  const texts = modules.map(({ module, text }) => [moduleName(module.replace(/\.wesl$/, '')), text])
  return new RecordResolver(Object.fromEntries(texts), { packageName: 'package' })
}

/** WESL names modules by identifiers, so that `primitives/sort-runs.wesl` is `package::primitives::sort_runs` to those who import it. */
function moduleName(path: string): string {
  return path.replaceAll('\\', '/').replaceAll('-', '_')
}
