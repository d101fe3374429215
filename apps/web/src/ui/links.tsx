import { ArrowLeft, ChevronRight, type LucideIcon } from 'lucide-react';
import type { ReactNode } from 'react';
import { Link } from 'wouter';
import { type ButtonKind, buttonLook } from './button.tsx';
import { classNames } from './class-names.ts';

/** Leads to another page, and looks like a button. */
export function LinkButton({
  href,
  kind = 'plain',
  className,
  children,
}: {
  href: string;
  kind?: ButtonKind;
  className?: string;
  children: ReactNode;
}) {
  return (
    <Link href={href} className={classNames(buttonLook(kind), className)}>
      {children}
    </Link>
  );
}

/** A row that leads to another page. */
export function LinkRow({
  href,
  icon: Icon,
  title,
  help,
}: {
  href: string;
  icon: LucideIcon;
  title: string;
  help?: string;
}) {
  return (
    <Link
      href={href}
      className="flex min-h-16 items-center gap-4 rounded-2xl border border-line bg-surface p-4 shadow-lift hover:border-line-strong"
    >
      <span aria-hidden className="grid size-10 shrink-0 place-items-center rounded-full bg-sunken text-ink-soft">
        <Icon className="size-5" />
      </span>
      <span className="min-w-0 flex-1">
        <span className="block font-strong">{title}</span>
        {help !== undefined && <span className="block break-words text-ink-soft">{help}</span>}
      </span>
      <ChevronRight aria-hidden className="size-5 shrink-0 text-ink-soft" />
    </Link>
  );
}

/** To the page above this one. */
export function BackLink({ href, children }: { href: string; children: string }) {
  return (
    <Link
      href={href}
      className="-mt-2 mb-2 -ml-2 inline-flex min-h-11 max-w-full items-center gap-2 rounded-xl px-2 text-accent hover:bg-accent-soft"
    >
      <ArrowLeft aria-hidden className="size-5 shrink-0" />
      <span className="truncate">{children}</span>
    </Link>
  );
}
