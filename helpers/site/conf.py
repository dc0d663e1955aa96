"""Sphinx settings of a run's site; helpers.report fills in what differs by run."""

project = "AI on AWS silicon"
author = ""
extensions = ["myst_nb", "helpers.mathml", "helpers.safe"]
exclude_patterns = ["extra"]
nb_execution_mode = "off"  # the runner has executed; the report only shows
nb_merge_streams = True
nb_ipywidgets_js: dict = {}  # would load scripts from elsewhere
myst_enable_extensions = ["amsmath", "colon_fence", "dollarmath"]
myst_heading_anchors = 3
suppress_warnings = ["myst.xref_missing", "myst.header"]

html_math_renderer = "mathml"
html_theme = "sphinx_book_theme"
html_title = project
html_show_sphinx = False
html_show_copyright = False
html_copy_source = False
html_use_index = False
html_show_search_summary = False  # would fetch pages, which a file cannot
html_last_updated_fmt = None
html_static_path = ["static"]
html_css_files = ["site.css"]
html_js_files = ["site.js"]
html_context = {"default_mode": "auto"}  # the reader's preference
html_theme_options = {
    "use_download_button": False,  # each page links the executed notebook itself
    "use_fullscreen_button": False,
    "show_toc_level": 2,
    "home_page_in_toc": True,
    "footer_content_items": [],
    "navbar_persistent": [],  # the side bar has the search
}
