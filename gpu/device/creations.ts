/**
 * How many objects were made on a device. Each takes the host as long as many dispatches, and buffers take memory, so that work that is
 * like earlier work makes none: it finds all that it needs in pools and caches.
 */
export interface Creations {
  /** Regions and the like, scratch and readback buffers; failed attempts too. */
  buffers: number
  bindGroups: number
  pipelines: number
}
