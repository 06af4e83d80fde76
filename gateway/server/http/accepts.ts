import type { IncomingMessage } from 'node:http';

/** Whether it is a browser that shows what it gets; what a page calls, and a program, says no such thing. */
export function acceptsHtml({ method, headers }: IncomingMessage): boolean {
  return method === 'GET' && headers.accept?.includes('text/html') === true;
}

export function acceptsJson({ headers }: IncomingMessage): boolean {
  return headers.accept?.includes('application/json') === true;
}
