/** The name under which DuckDB has the relation of a number, as a function. */
export const FUNCTION_PREFIX = 'relation '
