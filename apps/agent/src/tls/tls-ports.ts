/** A certificate and its private key, both as PEM (RFC 7468). */
export type KeyPair = { certificate: string; key: string };

/** Whom a certificate is for, and when it is valid (milliseconds since the epoch). */
export type CertificateFacts = { names: string[]; addresses: string[]; notBefore: number; notAfter: number };

/** Makes and reads X.509 certificates (RFC 5280). */
export type CertificateMaker = {
  /** An authority that can vouch for names in `.local` and for private addresses only. @param notAfter milliseconds since the epoch. */
  makeAuthority(commonName: string, notAfter: number): Promise<KeyPair>;
  /** The same authority with the same key and another end. */
  renewAuthority(authority: KeyPair, notAfter: number): Promise<KeyPair>;
  /** A certificate of a server with a new key. */
  issue(authority: KeyPair, facts: CertificateFacts): Promise<KeyPair>;
  /** Splits a file of a certificate and its key. Null: it is neither, or they do not belong together. */
  readPair(pem: string): KeyPair | null;
  /** When a certificate ends, milliseconds since the epoch. */
  readEnd(certificate: string): number;
  /** Null: another authority signed it. */
  readFacts(pair: KeyPair, authority: KeyPair): CertificateFacts | null;
  /** The certificates in a text, without anything else. Null: there is none, or one of them is none. */
  readCertificates(pem: string): string | null;
  /** SHA-256 of the certificate as phones show it: `AB:CD:…`. */
  fingerprint(certificate: string): string;
};

/** An address of the machine, as `os.networkInterfaces()` reports it. */
export type InterfaceAddress = { interface: string; address: string };
