import type { IncomingMessage } from 'node:http';

/** Whether a browser loads the URL as a page. Scripts and programs do not accept text/html. */
export function acceptsHtml({ method, headers }: IncomingMessage): boolean {
  return method === 'GET' && headers.accept?.includes('text/html') === true;
}

export function acceptsJson({ headers }: IncomingMessage): boolean {
  return headers.accept?.includes('application/json') === true;
}
