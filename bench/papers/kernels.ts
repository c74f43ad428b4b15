/** Where the modules of kernels that only repeat a paper have their paths from. */
export const PAPER_KERNELS = new URL('./', import.meta.url)
