/** Files are uploaded in pieces: a request may take 30 s only. In a file of its own: pages use it without the schemas. */
export const uploadPieceBytes = 1024 * 1024;
