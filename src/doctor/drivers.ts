import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const VENDORS: Readonly<Record<string, string>> = { '0x10de': 'NVIDIA', '0x1002': 'AMD', '0x8086': 'Intel' }
/** PCI classes that begin so are displays and 3D controllers. */
const DISPLAY_CLASS = '0x03'

/** Vendors of the GPUs that Linux sees on the PCI bus, whatever drivers there are. */
export function installedGpus(root = '/sys/bus/pci/devices'): string[] {
  try {
    const vendors = readdirSync(root).flatMap((device) => {
      const read = (name: string) => readFileSync(join(root, device, name), 'latin1').trim()
      return read('class').startsWith(DISPLAY_CLASS) ? (VENDORS[read('vendor')] ?? []) : []
    })
    return [...new Set(vendors)]
  } catch {
    return []
  }
}

/** What to install so that a GPU is found, for the system that this is. */
export function driverAdvice(platform: string, distribution: string, vendors: readonly string[]): string {
  if (platform === 'win32') return "install the GPU vendor's current driver; it comes with Direct3D 12"
  if (platform === 'darwin') return 'nothing is to be installed: Metal is part of macOS 12 and later'
  const packages = /fedora|rhel|centos/.test(distribution)
    ? FEDORA
    : /ubuntu/.test(distribution)
      ? UBUNTU
      : DEBIAN
  const wanted = vendors.length === 0 ? Object.keys(packages) : vendors
  return wanted.map((vendor) => `${vendor}: ${packages[vendor] ?? packages.Intel}`).join('; ')
}

const DEBIAN: Readonly<Record<string, string>> = {
  NVIDIA:
    'apt install libvulkan1 nvidia-driver, from non-free; in a container the NVIDIA container toolkit with NVIDIA_DRIVER_CAPABILITIES=all',
  AMD: 'apt install libvulkan1 mesa-vulkan-drivers, Mesa 25 or later (from backports on Debian 12)',
  Intel: 'apt install libvulkan1 mesa-vulkan-drivers, Mesa 25 or later (from backports on Debian 12)',
}
const UBUNTU: Readonly<Record<string, string>> = {
  NVIDIA:
    'apt install libvulkan1, then ubuntu-drivers install; in a container the NVIDIA container toolkit with NVIDIA_DRIVER_CAPABILITIES=all',
  AMD: 'apt install libvulkan1 mesa-vulkan-drivers',
  Intel: 'apt install libvulkan1 mesa-vulkan-drivers',
}
const FEDORA: Readonly<Record<string, string>> = {
  NVIDIA: 'dnf install vulkan-loader akmod-nvidia, from RPM Fusion',
  AMD: 'dnf install vulkan-loader mesa-vulkan-drivers',
  Intel: 'dnf install vulkan-loader mesa-vulkan-drivers',
}

/** The identifiers of a Linux distribution and of those that it is like. */
export function distributionOf(release: string): string {
  const lines = release.split('\n').filter((line) => /^ID(_LIKE)?=/.test(line))
  return lines.map((line) => line.replace(/^\w+=/, '').replaceAll('"', '')).join(' ')
}
