/** Stands for the plotting library: the server answers with the library itself under this module's name. */
export { default } from 'uplot'
