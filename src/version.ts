/** Version of the package; a test keeps it in step with package.json. */
export const VERSION = '0.1.0'
