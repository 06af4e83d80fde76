import { findChromium } from '../support/chromium.ts';

/** Runs once before all tests of pages: apt-get cannot run twice at a time. */
export default function setup(): void {
  findChromium();
}
