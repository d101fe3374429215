import { ArrowLeft } from 'lucide-react';
import { Link } from 'wouter';

/** To the page above this one. */
export function BackLink({ href, children }: { href: string; children: string }) {
  return (
    <Link
      href={href}
      className="-mt-2 mb-2 -ml-2 inline-flex min-h-11 items-center gap-2 rounded-xl px-2 text-accent hover:bg-accent-soft"
    >
      <ArrowLeft aria-hidden className="size-5" />
      {children}
    </Link>
  );
}
