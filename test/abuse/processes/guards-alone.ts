import { register } from 'node:module';

/*
 * Starts Gatehouse without bounds on what it counts: node dist/test/abuse/processes/guards-alone.js start. One module of
 * the program is replaced as it is loaded. Neither a setting nor the environment of the product can do that.
 */

const hooks = `export async function load(url, context, next) {
  if (!url.endsWith('/gateway/memory/counted-bounds.js')) return next(url, context);
  return { format: 'module', shortCircuit: true, source: 'export const areBoundsCounted = false;' };
}`;
register(`data:text/javascript,${encodeURIComponent(hooks)}`);
await import(new URL('../../../gateway/main.js', import.meta.url).href);
