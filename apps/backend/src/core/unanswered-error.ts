/** A message went out, and the broker did not say whether it took it: what it asks for may happen, or have happened. */
export class UnansweredError extends Error {
  constructor() {
    super('The broker did not answer, or went away before it did');
    this.name = 'UnansweredError';
  }
}
